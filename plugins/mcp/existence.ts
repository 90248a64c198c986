import type { Listed, Principal, Server } from "propylon";
import type { EndpointContent } from "propylon/kit";

/** What is there at all for a principal; without one, all is, and filters that look at principals have still to decide. */
export function existence(
  { byPrincipal }: EndpointContent,
  principal: Principal | undefined,
): (item: Listed) => boolean {
  if (!byPrincipal || !principal) return () => true;
  return (item) => byPrincipal.shows(item, principal);
}

/** Whether anything of a server is there; one that has nothing at all hides nothing. */
export function isSeen(
  { name: server, catalogue }: Server,
  exists: (item: Listed) => boolean,
): boolean {
  const items: Listed[] = [
    ...catalogue.tools.map(({ name }) => ({ server, kind: "tool" as const, name })),
    ...catalogue.prompts.map(({ name }) => ({ server, kind: "prompt" as const, name })),
    ...catalogue.resources.map(({ uri }) => ({ server, kind: "resource" as const, name: uri })),
    ...catalogue.resourceTemplates.map(({ uriTemplate }) => ({
      server,
      kind: "resourceTemplate" as const,
      name: uriTemplate,
    })),
  ];
  return items.length === 0 || items.some(exists);
}
