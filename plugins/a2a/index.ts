import { definePlugin } from "propylon";
import { z } from "zod";

export * from "./service.ts";

/** Serves agents and tools of this gateway as an A2A runtime. */
export default definePlugin({ name: "a2a", config: z.strictObject({}), setup() {} });
