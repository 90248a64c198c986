import gating from "propylon/plugins/gating";
import { testPlugin } from "propylon/testing";

testPlugin(gating, { config: {}, changed: { timeouts: { max: "30s" } } });
