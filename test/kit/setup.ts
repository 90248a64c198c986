import { afterAll } from "vitest";
import { undoRest } from "./afterwards.ts";

/** For each file, also where several share their modules: a hook of a shared module is one of the first file only. */
afterAll(undoRest);
