import { describe, expect, it } from "vitest";
import { createGateway, definePlugin, type AnyPlugin } from "../../../core/index.ts";
import { VERSION } from "../../../core/kit.ts";

const [major, minor] = VERSION.split(".").map(Number) as [number, number];

async function start(requires: AnyPlugin["requires"]): Promise<string | undefined> {
  const plugin = definePlugin({
    name: "dated",
    ...(requires !== undefined && { requires }),
    setup() {},
  });
  const config = { listeners: { main: { port: 0 } }, log: { level: "silent" as const } };
  try {
    const gateway = await createGateway(
      { ...config, plugins: { dated: {} } },
      { plugins: { dated: plugin } },
    );
    await gateway.close();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

describe("a plugin that says for which Propylon it is", () => {
  it.each([undefined, `^${major}.${minor}` as const])("is taken with %s", async (requires) => {
    expect(await start(requires)).toBeUndefined();
  });

  it.each([
    [`^${major}.${minor + 1}`],
    [`^${major + 1}.0`],
    // Below 1.0 a minor version may change everything.
    ...(major === 0 ? [[`^0.${minor - 1}`]] : []),
  ] as [NonNullable<AnyPlugin["requires"]>][])("is refused with %s", async (requires) => {
    expect(await start(requires)).toContain(
      `The plugin dated requires Propylon ${requires}, and this is ${VERSION}.`,
    );
  });

  it.each(["0.1", ">=0.1", "^0.1.0", "^01234567.0", ""])("is refused with %j", async (requires) => {
    expect(await start(requires as "^0.1")).toContain("has a requires that names no version");
  });
});
