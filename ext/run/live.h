/* Runs that go on, as text for Prometheus. */
#ifndef ROAST_EXT_LIVE_H
#define ROAST_EXT_LIVE_H

#include "state.h"

PyObject *ext_prometheus_live(PyObject *module, PyObject *runs);

#endif
