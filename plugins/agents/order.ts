/** What one of several things needs of the others. */
export type Needs = Readonly<Record<string, readonly string[]>>;

/** The names, each behind those it needs, else in the order given; or the first circle found, its first name again at the end. */
export function orderByNeed(
  needs: Needs,
): { readonly order: readonly string[] } | { readonly circle: readonly string[] } {
  const order: string[] = [];
  const path: string[] = [];
  const visit = (name: string): readonly string[] | undefined => {
    if (order.includes(name)) return undefined;
    if (path.includes(name)) return [...path.slice(path.indexOf(name)), name];
    path.push(name);
    for (const needed of needs[name]!) {
      const circle = Object.hasOwn(needs, needed) ? visit(needed) : undefined;
      if (circle) return circle;
    }
    path.pop();
    order.push(name);
    return undefined;
  };
  for (const name of Object.keys(needs)) {
    const circle = visit(name);
    if (circle) return { circle };
  }
  return { order };
}
