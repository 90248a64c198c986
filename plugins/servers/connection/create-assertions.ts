import type { PluginContext } from "propylon";
import { Checks, createSealer, type Fernet } from "propylon/kit";
import type { Store } from "propylon/store";
import { Assertions, sealedKeySchema, storedKeySchema } from "./identity.ts";

/** What signs calls; its key is sealed in a store that outlives the process, wherever there is something to seal with. */
export function createAssertions({ add }: Pick<PluginContext, "add">, store: Store): Assertions {
  const isKept = store.durable || store.shared;
  const fernet = isKept ? findSealer() : undefined;
  const seal = fernet && { fernet, kv: store.kv("identity", { schema: sealedKeySchema }) };
  const assertions = new Assertions(store.kv("identity", { schema: storedKeySchema }), seal);
  if (isKept && !fernet)
    add(Checks, {
      name: "servers-identity",
      ask: () =>
        assertions.isUsed
          ? {
              message: "servers: the key that signs who calls stands in the store in the open.",
              path: ["servers"],
              hint: "Set SECRET_KEY in the environment to at least 32 random characters.",
            }
          : undefined,
    });
  return assertions;
}

/** An earlier gateway, which needed none, goes on without. */
function findSealer(): Fernet | undefined {
  try {
    return createSealer("servers", undefined);
  } catch {
    return undefined;
  }
}
