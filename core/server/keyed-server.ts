import type { Answer } from "../call/answer.ts";
import { amendCall, type Call } from "../call/call.ts";
import type { Json, Tool } from "../call/types.ts";
import { isObject } from "../kit/json.ts";
import { toToolName, UniqueNames } from "../kit/tool-name.ts";
import type { Logger } from "pino";
import { makeCatalogue } from "./catalogue.ts";
import { SAFE_KEY } from "./schema-doubts.ts";
import type { Catalogue } from "./server.ts";
import type { ManagedServer } from "./server-type.ts";
import { Successor } from "./successor.ts";

/** Lists as clients see them, and what they were made of. */
interface Keyed {
  readonly given: Catalogue;
  readonly catalogue: Catalogue;
  readonly keys: Keys;
}

/** The server's own keys of arguments by those that clients see, by tool. */
type Keys = ReadonlyMap<string, ReadonlyMap<string, string>>;

/**
 * A server whose arguments have keys that some models refuse with the whole request, such as `filter[name]`: clients see others, and a
 * call has the server's own again. It stands before the server itself, so every face shows the same.
 */
export class KeyedServer extends Successor {
  readonly #isOn: boolean;
  #keyed: Keyed | undefined;

  /** @param isOn whether it does so; default: keys stay as they are */
  constructor(server: ManagedServer, log: Logger, isOn = false) {
    super(server, log);
    this.#isOn = isOn;
  }

  override get catalogue(): Catalogue {
    return this.#isOn ? this.#read().catalogue : super.catalogue;
  }

  override request(call: Call): Promise<Answer> {
    if (!this.#isOn || call.method !== "tools/call") return super.request(call);
    const keys = this.#read().keys.get(call.name);
    if (!keys || !call.args) return super.request(call);
    const args = Object.entries(call.args).map(([key, value]) => [keys.get(key) ?? key, value]);
    return super.request(amendCall(call, { args: Object.fromEntries(args) as Json }));
  }

  #read(): Keyed {
    const given = super.catalogue;
    const known = this.#keyed;
    return known?.given === given ? known : (this.#keyed = withSafeKeys(given));
  }
}

function withSafeKeys(given: Catalogue): Keyed {
  const keys = new Map<string, ReadonlyMap<string, string>>();
  const tools = given.tools.map((tool) => {
    const safe = safeKeysOf(tool);
    if (!safe) return tool;
    keys.set(tool.name, new Map([...safe].map(([own, shown]) => [shown, own])));
    return { ...tool, inputSchema: renamed(tool.inputSchema, safe) };
  });
  const catalogue = keys.size === 0 ? given : makeCatalogue({ ...given, tools });
  return { given, catalogue, keys };
}

/** What the keys that models refuse are called; `undefined`: there are none. */
function safeKeysOf({ inputSchema }: Tool): ReadonlyMap<string, string> | undefined {
  const { properties } = inputSchema;
  const all = isObject(properties) ? Object.keys(properties) : [];
  const odd = all.filter((key) => !SAFE_KEY.test(key));
  if (odd.length === 0) return undefined;
  const names = new UniqueNames(all);
  return new Map(odd.map((key) => [key, names.take(toToolName(key) || "key")]));
}

function renamed(schema: Json, safe: ReadonlyMap<string, string>): Json {
  const nameOf = (key: string): string => safe.get(key) ?? key;
  const properties = Object.entries(schema["properties"] as Json);
  const { required } = schema;
  return {
    ...schema,
    properties: Object.fromEntries(properties.map(([key, value]) => [nameOf(key), value])),
    ...(Array.isArray(required) && { required: (required as string[]).map(nameOf) }),
  };
}
