import { definePlugin } from "propylon";
import { commands } from "./commands.ts";

/** Checks runtimes and MCP endpoints from outside, from the command line alone: a gateway does without it. */
export default definePlugin({
  name: "conformance",
  commands,
  setup() {},
});
