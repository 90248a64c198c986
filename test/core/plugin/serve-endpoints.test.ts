import { describe, expect, it } from "vitest";
import { type GatewayConfigInput, createGateway, definePlugin } from "../../../core/index.ts";
import {
  EndpointServers,
  type EndpointServer,
  NO_ENDPOINTS,
} from "../../../core/plugin/endpoint-server.ts";

function config(plugins: NonNullable<GatewayConfigInput["plugins"]>): GatewayConfigInput {
  return { listeners: { main: { port: 0 } }, plugins, log: { level: "silent" } };
}

describe("a plugin that serves the endpoints", () => {
  it("is undone to the end although its close throws", async () => {
    const undone: string[] = [];
    const plugin = definePlugin({
      name: "faces",
      setup(gateway) {
        const faces: EndpointServer = {
          ...NO_ENDPOINTS,
          close() {
            throw new Error("cannot close");
          },
        };
        gateway.add(EndpointServers, faces);
        gateway.onDispose(() => faces.close());
        gateway.onStart(() => () => void undone.push("started"));
      },
    });
    const gateway = await createGateway(config({ mcp: false, faces: {} }), {
      plugins: { faces: plugin },
    });
    const error: unknown = await gateway.close().catch((thrown: unknown) => thrown);
    expect(undone).toEqual(["started"]);
    expect((error as AggregateError).errors.map(String)).toContain("Error: cannot close");
  });

  it("is refused beside another one", async () => {
    const plugin = definePlugin({
      name: "faces",
      setup: (gateway) => gateway.add(EndpointServers, NO_ENDPOINTS),
    });
    await expect(
      createGateway(config({ faces: {} }), { plugins: { faces: plugin } }),
    ).rejects.toMatchObject({
      code: "exists",
      message: expect.stringContaining('by plugin "mcp" and by plugin "faces"') as unknown,
    });
  });
});
