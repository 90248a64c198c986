import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  createGateway,
  definePlugin,
  defineService,
  optional,
  type Answer,
  type Call,
  type CommandInput,
  type Handle,
  type ResourceHandle,
  type Socket,
} from "../../core/index.ts";

interface Store {
  get(key: string): string | undefined;
}
const Stored = defineService<Store>("stored");
const store: Store = { get: () => undefined };

test("config, services and arguments have the types that were declared", () => {
  definePlugin({
    name: "typed",
    config: z.strictObject({ size: z.int().default(3) }),
    inject: { store: Stored, maybe: optional(Stored) },
    setup(gateway) {
      expectTypeOf(gateway.config).toEqualTypeOf<{ size: number }>();
      expectTypeOf(gateway.services.store).toEqualTypeOf<Store>();
      expectTypeOf(gateway.services.maybe).toEqualTypeOf<Store | undefined>();
      expectTypeOf(gateway.keep("k", () => new Map<string, number>())).toEqualTypeOf<
        Map<string, number>
      >();
      gateway.tool("t", {
        description: "",
        input: z.object({ text: z.string(), times: z.number().default(1) }),
        run(args, call) {
          expectTypeOf(args).toEqualTypeOf<{ text: string; times: number }>();
          expectTypeOf(call).toEqualTypeOf<Call>();
          return args.text;
        },
      });
      gateway.use("gate", (call, next) => {
        expectTypeOf(next(call)).toEqualTypeOf<Promise<Answer>>();
        return next(call);
      });
      gateway.hook("server:state", (name, status) => {
        expectTypeOf(name).toEqualTypeOf<string>();
        expectTypeOf(status.attempts).toEqualTypeOf<number>();
      });
      gateway.route(
        "GET",
        "/x/:id",
        { access: "principal", mutates: false },
        (event) => event.context.principal.id,
      );
      gateway.route("GET", "/ws", { access: "viewer", mutates: false, websocket: true }, (socket) =>
        expectTypeOf(socket).toEqualTypeOf<Socket>(),
      );
      gateway.use("deadline", {
        limit(call) {
          expectTypeOf(call).toEqualTypeOf<Call>();
          return { total: 1 };
        },
      });
      expectTypeOf(gateway.tool("h", { description: "", run: () => "" })).toEqualTypeOf<Handle>();
      const fixed = gateway.resource("one", {
        uri: "x://one",
        read(variables, call) {
          expectTypeOf(variables).toEqualTypeOf<Readonly<Record<string, string>>>();
          expectTypeOf(call).toEqualTypeOf<Call>();
          return { text: "" };
        },
      });
      expectTypeOf(fixed).toEqualTypeOf<ResourceHandle>();
      gateway.resource("many", {
        uriTemplate: "x://{id}",
        read: ({ id = "" }) => ({ text: id }),
        complete: (variable, value) => [variable + value],
      });
      gateway.prompt("p", {
        arguments: [{ name: "a" }],
        get(args) {
          expectTypeOf(args).toEqualTypeOf<Readonly<Record<string, string>>>();
          return { role: "user", content: { type: "text", text: "" } };
        },
      });
    },
  });
  definePlugin({ name: "giving", provides: Stored, setup: () => store });
  definePlugin({ name: "giving-later", provides: Stored, setup: async () => store });
});

test("what must not compile does not", () => {
  // @ts-expect-error: a plugin that provides a service must return it
  definePlugin({ name: "a", provides: Stored, setup() {} });
  // @ts-expect-error: and the right one
  definePlugin({ name: "a", provides: Stored, setup: () => ({ get: () => 7 }) });
  // @ts-expect-error: a name is required
  definePlugin({ setup() {} });
  definePlugin({
    name: "b",
    config: z.strictObject({ size: z.number() }),
    inject: { store: Stored },
    setup(gateway) {
      // @ts-expect-error: the option is a number
      gateway.config.size.trim();
      // @ts-expect-error: there is no such option
      void gateway.config.sizes;
      // @ts-expect-error: there is no such service
      void gateway.services.other;
      // @ts-expect-error: there is no such stage
      gateway.use("before", (call, next) => next(call));
      // @ts-expect-error: only the deadline has a rule
      gateway.use("gate", { limit: () => ({ total: 1 }) });
      // @ts-expect-error: a resource has a URI or a template
      gateway.resource("r", { read: () => ({ text: "" }) });
      // @ts-expect-error: and not both
      gateway.resource("r", { uri: "x://y", uriTemplate: "x://{y}", read: () => ({ text: "" }) });
      // @ts-expect-error: this member has another name
      void gateway.servers;
      // @ts-expect-error: a WebSocket begins with GET
      gateway.route("POST", "/x", { access: "public", mutates: false, websocket: true }, () => {});
      // @ts-expect-error: a middleware passes on an answer
      gateway.use("gate", () => undefined);
      // @ts-expect-error: a call is immutable
      gateway.use("gate", (call, next) => ((call.timeout = 1), next(call)));
      // @ts-expect-error: a route says who may use it
      gateway.route("GET", "/x", { mutates: false }, () => "");
      // @ts-expect-error: and whether it changes anything
      gateway.route("GET", "/x", { access: "public" }, () => "");
      // @ts-expect-error: a policy is one of four
      gateway.route("GET", "/x", { access: "anyone", mutates: false }, () => "");
      // @ts-expect-error: there is no such method
      gateway.route("FETCH", "/x", { access: "public", mutates: false }, () => "");
      // @ts-expect-error: there is no such hook
      gateway.hook("upstream:status", () => {});
      // @ts-expect-error: this hook passes a name and a status
      gateway.emit("server:state", 7);
      // @ts-expect-error: a tool says what it does
      gateway.tool("t", { run: () => "" });
      // @ts-expect-error: a tool returns text or an object
      gateway.tool("t", { description: "", run: () => 7 });
      // @ts-expect-error: the argument has no such member
      gateway.tool("t", { description: "", input: z.object({ a: z.string() }), run: ({ b }) => b });
    },
  });
  // @ts-expect-error: a wrong config type
  void createGateway({ listeners: { main: { port: "x" } } });
  // @ts-expect-error: an unknown setting
  void createGateway({ listenrs: {} });
});

test("a command has the flags that it says", () => {
  definePlugin({
    name: "commanding",
    commands: {
      typed: {
        description: "",
        run({ arguments: [first], flags, rest }: CommandInput<{ readonly loud?: boolean }>) {
          expectTypeOf(first).toEqualTypeOf<string | undefined>();
          expectTypeOf(flags.loud).toEqualTypeOf<boolean | undefined>();
          expectTypeOf(rest).toEqualTypeOf<readonly string[] | undefined>();
        },
      },
      // @ts-expect-error: an exit code is a number
      text: { description: "", run: () => "0" },
      // @ts-expect-error: there is no such kind of flag
      kind: { description: "", flags: [{ flag: "--x <x>", description: "", read: "number" }] },
    },
    setup() {},
  });
});
