/**
 * `propylon/process`: children of the gateway, which end with it, and the environment variables of a process.
 */

// Children
export { spawnChild } from "./kit/process/child.ts";
export { type Child, type Exit } from "./kit/process/child.ts";
export { spawnStdio, type StdioChannel } from "./kit/process/stdio.ts";
export { RingBuffer, reasonOf } from "./kit/process/stderr.ts";

// Environment variables
export { readVariable, readPort, readDuration, unreadableVariable } from "./config/env.ts";
