import { expect, it } from "vitest";
import { definePlugin } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";

const start = (setup: (gateway: Record<string, never>) => unknown) =>
  setupGateway({
    plugins: [definePlugin({ name: "old", setup: (gateway) => void setup(gateway as never) })],
    client: false,
  });

it.each(["resource", "prompt"] as const)(
  "gateway.%s with all in one object says that the name comes first",
  async (member) => {
    const register = (gateway: Record<string, (definition: object) => void>): void =>
      gateway[member]!({ name: "n", uri: "x://y" });
    await expect(start(register as never)).rejects.toThrow(
      `gateway.${member} takes a name and then a definition.`,
    );
  },
);
