/* For a build with -Dbundled=true alone.
 *
 * Debian builds libjansson.a for programs, not for shared objects: its json_loadf() takes the address of the C library's
 * `stdin` in a way that a shared object cannot. Nothing here calls it. This variable, which nobody outside sees, stands in
 * its place. */
extern void *stdin;
__attribute__((visibility("hidden"))) void *stdin;
