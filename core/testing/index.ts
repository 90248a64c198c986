export { connectClient, connectModernClient, type ClientOptions } from "./client.ts";
export { team, user } from "./as.ts";
export { freePort } from "../kit/port.ts";
export {
  setupGateway,
  type GatewaySetup,
  type PluginEntry,
  type TestGateway,
} from "./test-gateway.ts";
export { openResources } from "./handles.ts";
export { testPlugin, type PluginSuite } from "./suite.ts";
export {
  fakeUpstream,
  type FakeAnswer,
  type FakeCall,
  type FakeTool,
  type FakeUpstream,
} from "./fake-upstream.ts";
export { testStore, type StoreSuite } from "./store-suite.ts";
