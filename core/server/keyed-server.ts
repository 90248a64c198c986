import type { Answer } from "../call/answer.ts";
import { amendCall, type Call } from "../call/call.ts";
import { SafeKeys } from "../kit/safe-keys.ts";
import type { Logger } from "pino";
import { makeCatalogue } from "../call/catalogue.ts";
import type { Catalogue } from "../call/server.ts";
import type { ManagedServer } from "../call/server-type.ts";
import { Successor } from "./successor.ts";

/** Lists as clients see them, and what they were made of. */
interface Keyed {
  readonly given: Catalogue;
  readonly catalogue: Catalogue;
  /** Of the tools whose keys are not safe, by name. */
  readonly keys: ReadonlyMap<string, SafeKeys>;
}

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
    return super.request(amendCall(call, { args: keys.restore(call.args) }));
  }

  #read(): Keyed {
    const given = super.catalogue;
    const known = this.#keyed;
    return known?.given === given ? known : (this.#keyed = withSafeKeys(given));
  }
}

function withSafeKeys(given: Catalogue): Keyed {
  const keys = new Map<string, SafeKeys>();
  const tools = given.tools.map((tool) => {
    const safe = SafeKeys.of(tool.inputSchema);
    if (!safe) return tool;
    keys.set(tool.name, safe);
    return { ...tool, inputSchema: safe.schema };
  });
  const catalogue = keys.size === 0 ? given : makeCatalogue({ ...given, tools });
  return { given, catalogue, keys };
}
