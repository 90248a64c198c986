import { expect, it } from "vitest";
import * as api from "../../../core/index.ts";
import * as testing from "../../../core/testing/index.ts";

it("the public names of propylon and propylon/testing are these", () => {
  expect(Object.keys(api).toSorted()).toMatchInlineSnapshot(`
    [
      "Answer",
      "AuthenticatorService",
      "Cancellation",
      "EMPTY_CATALOGUE",
      "ERROR_STATUS",
      "Gateway",
      "GatewayError",
      "LITERAL_PROGRESS",
      "MAX_DELAY_MS",
      "METRICS_CONTENT_TYPE",
      "RESERVED_SERVERS",
      "STAGES",
      "admits",
      "amendCall",
      "checkInput",
      "configSchema",
      "createFileGateway",
      "createGateway",
      "createLogger",
      "definePlugin",
      "defineService",
      "durationSchema",
      "endOf",
      "isGatewayError",
      "isUnmodified",
      "matchesWildcard",
      "networkReason",
      "optional",
      "outcomeOf",
      "parseDuration",
      "pathParameter",
      "readJson",
      "sizeSchema",
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
