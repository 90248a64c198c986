/**
 * `propylon/process`: children of the gateway, which end with it, and the environment variables of a process.
 */

// Children
export { spawnChild, type Child, type Exit } from "./process/child.ts";
export { spawnStdio, type StdioChannel } from "./process/stdio.ts";
export { RingBuffer, reasonOf } from "./process/stderr.ts";

// Environment variables
export { readVariable, readPort, readDuration, unreadableVariable } from "./config/env.ts";
