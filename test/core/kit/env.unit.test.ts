import fc from "fast-check";
import { Listeners } from "propylon/kit";
import { readDuration, readPort } from "propylon/process";
import { expect, it } from "vitest";
import { withContainer } from "../../../core/file/container.ts";
import { placeRuntime } from "../../../plugins/a2a/place.ts";
import { optionsSchema } from "../../../plugins/sidecar/options.ts";
import { settle } from "../../../plugins/sidecar/settings.ts";

const text = fc.oneof(
  fc.integer({ min: -10, max: 200_000 }).map(String),
  fc.constantFrom("", " ", "8080 ", "0", "65535", "65536", "99999", "1e3", "0x50", "http", "08080"),
  fc.string({ maxLength: 6 }),
);

/** The port, or what is said about it. */
function attempt(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    return (error as Error).message.replace(/from \d/, "from N");
  }
}

/** The port on which each program of a container would listen, or connect. */
const FACES: Readonly<Record<string, (environment: Record<string, string>) => unknown>> = {
  gateway: (environment) => {
    const { listeners } = withContainer({ plugins: { a2a: {} } }, environment);
    return (listeners as { main: { port: number } } | undefined)?.main.port ?? 8080;
  },
  runtime: (environment) => {
    const before = process.env["A2A_PORT"];
    Object.assign(process.env, environment);
    let port: unknown;
    try {
      placeRuntime({
        config: { path: "/", listener: { host: "127.0.0.1" } },
        info: { effectiveConfig: () => ({}), describe: () => ({ listeners: [] }) },
        add: (point: unknown, listener: { name: string; port: number }) => {
          expect([point, listener.name]).toEqual([Listeners, "a2a"]);
          port = listener.port;
        },
        hook: () => {},
      } as never);
      return port;
    } finally {
      if (before === undefined) delete process.env["A2A_PORT"];
      else process.env["A2A_PORT"] = before;
    }
  },
  sidecar: (environment) =>
    Number(new URL(settle(optionsSchema.parse({}), environment, "/").runtime.url).port || 80),
};

it("every program of a container reads A2A_PORT in the same way, but that nobody connects to port 0", () => {
  fc.assert(
    fc.property(text, (written) => {
      const environment = { A2A_PORT: written.replaceAll("\0", "") };
      const expected = attempt(() => readPort(environment, "A2A_PORT") ?? 8080);
      for (const [face, read] of Object.entries(FACES)) {
        const isRefused = face === "sidecar" && expected === 0;
        const wanted = isRefused
          ? "The variable A2A_PORT must be a port, from N to 65535."
          : expected;
        expect([face, attempt(() => read(environment))]).toEqual([face, wanted]);
      }
    }),
  );
});

it("a duration in the environment is seconds unless it has a unit, and set to nothing it is not set", () => {
  const read = (TIME: string) => readDuration({ TIME }, "TIME");
  expect([read("30"), read("1500ms"), read(" 2m "), read("")]).toEqual([30_000, 1_500, 120_000, undefined]); // prettier-ignore
  expect(() => read("soon")).toThrow("The variable TIME must be a duration such as 30s or 500ms.");
});
