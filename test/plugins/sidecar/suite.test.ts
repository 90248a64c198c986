import { testPlugin } from "../../../core/testing/index.ts";
import sidecar from "../../../plugins/sidecar/index.ts";

testPlugin(sidecar, {
  config: { runtime: { url: "http://127.0.0.1:9" } },
  changed: { runtime: { url: "http://127.0.0.1:9" }, concurrency: 2 },
});
