import { fakeUpstream, type FakeUpstream } from "../../../core/testing/index.ts";
import { FULL, startGateway } from "./kit.ts";

/** Text that is harmless only where it is shown as text. */
export const HOSTILE = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>{{7*7}}\u202Egnp.\u200B`;

/** Every page of {@link startShop}, as its path. */
export const ALL_PAGES = [
  "/",
  "/servers",
  "/servers/shop",
  "/servers/shop?view=config",
  "/activity",
  "/logs",
  "/access?server=shop&tool=price",
  "/config",
  "/clients",
  "/docs",
] as const;

/** A gateway with a server that works, one that is switched off, and a call in its history. */
export async function startShop(
  more = "",
): Promise<Awaited<ReturnType<typeof startGateway>> & { readonly shop: FakeUpstream }> {
  const shop = await fakeUpstream({
    price: {
      description: "What a thing costs.",
      input: {
        type: "object",
        properties: {
          item: { type: "string", description: "Name of the thing." },
          amount: { type: "integer", minimum: 1 },
        },
        required: ["item"],
      },
      run: ({ item }) => `${String(item)}: 3 EUR`,
    },
    echo: { description: HOSTILE, run: () => HOSTILE },
  });
  const text = `${FULL}  openapi: {}\n  health: {}\n  access: {}\nservers:\n  shop: { url: "${shop.url}" }\n  drafts: { command: nothing, enabled: false }\n${more}`;
  const started = await startGateway(text);
  await fetch(`${started.url}/shop/echo`, { method: "POST" });
  return { ...started, shop };
}
