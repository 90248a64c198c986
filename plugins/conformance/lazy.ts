/** Makes a value at its first use and gives the same one from then on; a promise that rejects stays rejected for all. */
export function lazy<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
