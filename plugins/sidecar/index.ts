import { definePlugin } from "propylon";
import { z } from "zod";

/** Feeds a runtime from a durable queue. */
export default definePlugin({ name: "sidecar", config: z.strictObject({}), setup() {} });
