import { build } from "../playground/ready.mjs";

/** Before all tests: those of the command line run what is in dist, and two files that compiled it at once would meet half of it. */
export function setup(): void {
  build();
}
