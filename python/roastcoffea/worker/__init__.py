"""In the worker, around process(): the task that runs, where records go, the sizes of files, the batch job."""
