import { afterAll } from "vitest";
import { closePages } from "./fixtures/chromium.ts";

/** For each file, also where several share their modules: a hook of a shared module is one of the first file only. */
afterAll(closePages);
