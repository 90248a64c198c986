import { testPlugin } from "../../../core/testing/index.ts";
import agents from "../../../plugins/agents/index.ts";
import health from "../../../plugins/health/index.ts";

testPlugin(health, { changed: { interval: "30s", access: "viewer" } });

testPlugin(health, { with: [[agents, { agents: {} }]] });
