import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import {
  createGateway,
  definePlugin,
  defineService,
  type AnyPlugin,
  type Gateway,
  type GatewayConfigInput,
  type PluginContext,
} from "../../core/index.ts";
import { deferred } from "../kit/deferred.ts";
import { LIFE } from "./plugin-life.ts";

/** Names that say nothing of the order: `base` is needed by `above`. */
const Base = defineService<{ readonly name: string }>("life-base");

type Body = (gateway: PluginContext) => unknown;

/** Two plugins that write down what happens to them, and a gateway with both. */
class Scene {
  readonly happened: string[] = [];
  /** The service that `above` was given. */
  given: unknown;
  gateway!: Gateway;
  #above: Body;

  constructor(above: Body = () => {}) {
    this.#above = above;
  }

  async start(options: Readonly<Record<string, unknown>> = {}): Promise<this> {
    this.gateway = await createGateway(this.config(options), { plugins: this.#plugins() });
    onTestFinished(() => this.gateway.close({ grace: 0 }).catch(() => {}));
    await this.gateway.listen();
    return this;
  }

  apply(options: Readonly<Record<string, unknown>> | false): Promise<unknown> {
    return this.gateway.apply(this.config(options));
  }

  config(options: Readonly<Record<string, unknown>> | false): GatewayConfigInput {
    return {
      listeners: { main: { port: 0 } },
      log: { level: "silent" },
      timeouts: { setup: "200ms", drain: "5s" },
      plugins: { above: options, base: {} },
    };
  }

  /** What happened since it was asked last. */
  take(): string[] {
    return this.happened.splice(0);
  }

  async get(path: string): Promise<string> {
    const [listener] = this.gateway.describe().listeners;
    return (await fetch(`${listener!.url}${path}`)).text();
  }

  #write(name: string, gateway: PluginContext): void {
    this.happened.push(`${name} setup`);
    gateway.onStart(() => {
      this.happened.push(`${name} start`);
      return () => void this.happened.push(`${name} stop`);
    });
    gateway.onDispose(() => void this.happened.push(`${name} dispose`));
  }

  #plugins(): Record<string, AnyPlugin> {
    const base = definePlugin({
      name: "base",
      provides: Base,
      setup: async (gateway) => {
        await Promise.resolve();
        this.#write("base", gateway);
        return { name: "base" };
      },
    });
    const above = definePlugin({
      name: "above",
      config: z.strictObject({ word: z.string().optional() }),
      inject: { base: Base },
      setup: async (gateway) => {
        this.given = gateway.services.base;
        this.#write("above", gateway);
        await this.#above(gateway);
      },
    });
    return { above, base };
  }
}

const OPEN = { access: "public", mutates: false } as const;
const BEGUN = ["base setup", "above setup", "base start", "above start"];

/** A route that says which word its plugin was set up with. */
const tellWord: Body = (gateway) => {
  const { word = "none" } = gateway.config as { word?: string };
  gateway.route("GET", "/word", OPEN, () => word);
};

const PROOFS: Readonly<Record<keyof typeof LIFE, () => Promise<void>>> = {
  options: async () => {
    const scene = new Scene();
    await expect(scene.start({ word: 1 })).rejects.toMatchObject({
      code: "invalid",
      data: { issues: [{ place: { path: "plugins.above.word" } }] },
    });
    expect(scene.take()).toEqual([]);
  },
  order: async () => {
    const scene = await new Scene().start();
    expect(scene.take()).toEqual(BEGUN);
  },
  setup: async () => {
    const scene = new Scene(() => new Promise(() => {}));
    await expect(scene.start()).rejects.toMatchObject({ message: /above.*longer than 200 ms/ });
    expect(scene.take()).toEqual(["base setup", "above setup", "above dispose", "base dispose"]);
    expect(scene.given).toEqual({ name: "base" });
  },
  sealed: async () => {
    const scene = new Scene((gateway) =>
      gateway.onStart(() => gateway.route("GET", "/late", OPEN, () => "late")),
    );
    await expect(scene.start()).rejects.toMatchObject({ message: /after its setup/ });
  },
  compile: async () => {
    const scene = new Scene((gateway) => {
      tellWord(gateway);
      const { word } = gateway.config as { word?: string };
      if (word === "twice") gateway.route("GET", "/word", OPEN, () => "another");
    });
    await scene.start({ word: "first" });
    scene.take();
    await expect(scene.apply({ word: "twice" })).rejects.toThrow("not applied");
    expect(scene.take()).toEqual(["above setup", "above dispose"]);
    expect(await scene.get("/word")).toBe("first");
  },
  start: async () => {
    const scene = new Scene((gateway) =>
      gateway.onStart(() => {
        throw new Error("no");
      }),
    );
    await expect(scene.start()).rejects.toMatchObject({ message: /could not be started/ });
    expect(scene.take().slice(BEGUN.length)).toEqual([
      "above stop",
      "above dispose",
      "base stop",
      "base dispose",
    ]);
  },
  unchanged: async () => {
    const scene = await new Scene(tellWord).start({ word: "same" });
    scene.take();
    await scene.apply({ word: "same" });
    expect(scene.take()).toEqual([]);
  },
  changed: async () => {
    const { promise: held, resolve: release } = deferred();
    const scene = new Scene((gateway) => {
      tellWord(gateway);
      const { word } = gateway.config as { word: string };
      gateway.tool("slow", {
        description: "Waits.",
        run: async () => {
          scene.happened.push(`${word} asked`);
          await held;
          return word;
        },
      });
    });
    await scene.start({ word: "old" });
    scene.take();
    const slow = scene.gateway.call({ server: "above", name: "slow" });
    await expect.poll(() => scene.happened).toEqual(["old asked"]);
    await scene.apply({ word: "new" });
    expect(scene.take()).toEqual(["old asked", "above setup", "above start"]);
    expect(await scene.get("/word")).toBe("new");
    release();
    expect((await slow).result).toMatchObject({ content: [{ text: "old" }] });
    await expect.poll(() => scene.happened).toEqual(["above stop", "above dispose"]);
  },
  keep: async () => {
    const scene = new Scene((gateway) => {
      gateway.keep(
        "count",
        () => scene.happened.push("made"),
        () => void scene.happened.push("dropped"),
      );
    });
    await scene.start({ word: "one" });
    const of = (): string[] => scene.happened.filter((each) => /made|dropped/.test(each));
    await scene.apply({ word: "two" });
    expect(of()).toEqual(["made"]);
    await scene.apply(false);
    await expect.poll(of).toEqual(["made", "dropped"]);
  },
  dispose: async () => {
    const scene = await new Scene((gateway) =>
      gateway.onDispose(() => {
        throw new Error("no");
      }),
    ).start();
    scene.take();
    await expect(scene.gateway.close({ grace: 0 })).rejects.toThrow("no");
    expect(scene.take()).toEqual(["above stop", "above dispose", "base stop", "base dispose"]);
  },
  gone: async () => {
    const scene = await new Scene(tellWord).start({ word: "here" });
    expect(await scene.get("/word")).toBe("here");
    await scene.apply(false);
    expect(await scene.get("/word")).toContain("not_found");
  },
};

it.each(Object.entries(LIFE))("the life of a plugin, %s: %s", async (name) => {
  await expect(PROOFS[name as keyof typeof LIFE]()).resolves.toBeUndefined();
});
