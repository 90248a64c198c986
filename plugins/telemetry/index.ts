import { definePlugin } from "propylon";
import { z } from "zod";

/** Traces and metrics by OpenTelemetry. */
export default definePlugin({ name: "telemetry", config: z.strictObject({}), setup() {} });
