import { testPlugin } from "propylon/testing";
import openapi from "../../../plugins/openapi/index.ts";

testPlugin(openapi, {
  config: {},
  changed: { format: "raw", serverTiming: true, docs: false, jobs: { maxJobs: 2 } },
});
