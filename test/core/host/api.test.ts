import { expect, it } from "vitest";
import * as api from "../../../core/index.ts";
import * as testing from "../../../core/testing/index.ts";

it("the public names of propylon and propylon/testing are these", () => {
  expect(Object.keys(api).toSorted()).toMatchInlineSnapshot(`
    [
      "Answer",
      "AuthenticatorService",
      "EMPTY_CATALOGUE",
      "ERROR_STATUS",
      "Gateway",
      "GatewayError",
      "METRICS_CONTENT_TYPE",
      "STAGES",
      "configSchema",
      "createGateway",
      "createLogger",
      "definePlugin",
      "defineService",
      "isGatewayError",
      "matchesWildcard",
      "optional",
      "outcomeOf",
      "toEnvelope",
      "toGatewayError",
      "toProblem",
      "toRpcError",
    ]
  `);
  expect(Object.keys(testing).toSorted()).toMatchInlineSnapshot(`
    [
      "connectClient",
      "openResources",
      "setupGateway",
      "testPlugin",
    ]
  `);
});
