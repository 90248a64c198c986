import { expect, it } from "vitest";
import * as api from "../../../core/index.ts";
import * as testing from "../../../core/testing/index.ts";

it("the public names of propylon and propylon/testing are these", () => {
  expect(Object.keys(api).toSorted()).toMatchInlineSnapshot(`
    [
      "Answer",
      "Gateway",
      "GatewayError",
      "STAGES",
      "configSchema",
      "createFileGateway",
      "createGateway",
      "createLogger",
      "definePlugin",
      "defineService",
      "durationSchema",
      "isGatewayError",
      "operation",
      "optional",
      "sizeSchema",
      "toGatewayError",
    ]
  `);
  expect(Object.keys(testing).toSorted()).toMatchInlineSnapshot(`
    [
      "connectClient",
      "connectModernClient",
      "fakeUpstream",
      "freePort",
      "openResources",
      "setupGateway",
      "team",
      "testPlugin",
      "testStore",
      "user",
    ]
  `);
});
