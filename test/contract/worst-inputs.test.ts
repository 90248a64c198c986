import { expect, it } from "vitest";
import { LOGIN_INPUTS } from "../e2e/worst/login-inputs.ts";
import { CLIENT_INPUTS } from "../e2e/worst/client-inputs.ts";
import { LAST_INPUTS, ROUTE_INPUTS } from "../e2e/worst/route-inputs.ts";
import { runningRoutes } from "./running-routes.ts";

/** What may have a body. */
const WRITES: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/** The route of a request, of those that could be: that with the fewest parameters. */
function routeOf(request: string, routes: readonly string[]): string | undefined {
  const matching = routes.filter((route) => patternOf(route).test(request));
  return matching.toSorted((left, right) => openness(left) - openness(right))[0];
}

const openness = (route: string): number => route.split(/\/:|\*\*/).length;

function patternOf(route: string): RegExp {
  const [method, path = ""] = route.split(" ");
  const parts = path.split("/").map((part) => {
    if (part === "**") return ".*";
    if (part.startsWith(":")) return "[^/]+";
    return part.replaceAll(/[^\w:]/g, "\\$&");
  });
  return new RegExp(`^${method} ${parts.join("/")}$`);
}

it("issue 39 line 1: the campaign worst-inputs sends a body to every route that could have one", async () => {
  const running = (await runningRoutes()).filter(({ method }) => WRITES.has(method));
  const routes = [...new Set(running.map(({ method, path }) => `${method} ${path}`))];
  const inputs: readonly { readonly route?: string }[] = [
    ...ROUTE_INPUTS,
    ...CLIENT_INPUTS,
    ...LAST_INPUTS,
    ...LOGIN_INPUTS,
  ];
  const covered = new Set(inputs.map(({ route = "" }) => routeOf(route, routes)));
  expect(routes.length).toBeGreaterThan(60);
  expect(routes.filter((route) => !covered.has(route))).toEqual([]);
});
