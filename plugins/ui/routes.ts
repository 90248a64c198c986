import { Pages } from "propylon/kit";
import { GatewayError, type PluginContext, type RouteEvent } from "propylon";
import { FastResponse } from "srvx";

/** The pages hold no data: everyone may load them, and what they show is asked for with the visitor's own rights. */
const PUBLIC = { access: "public", mutates: false, management: true } as const;

/** Read at the first request: a gateway that nobody looks at starts without them, and does not hold them. */
const loadPages = (): Promise<typeof import("./assets.ts")> => import("./assets.ts");

/** Names of files have a hash of their content, so they never change. */
const FOREVER = "public, max-age=31536000, immutable";

/** `GET /ui`, every page below it, their files, and the way there for browsers that open an endpoint. */
export function registerRoutes(gateway: Pick<PluginContext, "route" | "add">): void {
  gateway.add(Pages, ({ url }) => leadTo(new URL(url).pathname));
  gateway.route("GET", "/ui", PUBLIC, sendPage);
  gateway.route("GET", "/ui/**", PUBLIC, sendPage);
  gateway.route("GET", "/ui/assets/:file", PUBLIC, sendAsset);
}

async function sendPage({ url }: RouteEvent): Promise<Response> {
  const { page, PAGE_HEADERS: headers } = await loadPages();
  return new FastResponse(page.replaceAll("%BASE%", wayToBase(url.pathname)), { headers });
}

/** Relative, since only a proxy knows under which path the browser sees the gateway. */
function wayToBase(pathname: string): string {
  const below = pathname.split("/").length - 3;
  return below < 0 ? "ui/" : "../".repeat(below) || "./";
}

/** Relative for the same reason. */
function leadTo(pathname: string): Response {
  const location = `${"../".repeat(pathname.split("/").length - 2)}ui/`;
  return new FastResponse(null, {
    status: 302,
    headers: { location, "cache-control": "no-store" },
  });
}

async function sendAsset({ req, context }: RouteEvent): Promise<Response> {
  const { encodingOf, readAsset } = await loadPages();
  const encoding = encodingOf(req.headers.get("accept-encoding"));
  const asset = readAsset(context.params?.["file"] ?? "", encoding);
  if (!asset)
    throw new GatewayError("not_found", "The pages have no such file.", {
      hint: "Reload the page: the gateway has another version by now.",
    });
  return new FastResponse(asset.bytes, {
    headers: {
      "content-type": asset.type,
      "x-content-type-options": "nosniff",
      "cache-control": FOREVER,
      vary: "accept-encoding",
      ...(encoding !== "identity" && { "content-encoding": encoding }),
    },
  });
}
