declare const type: unique symbol;

/**
 * A typed name for something one plugin provides and others inject. Two tokens are the same when their ids are.
 *
 * @example const Visits: Service<VisitsService> = defineService("visits");
 */
export interface Service<T> {
  readonly id: string;
  readonly [type]?: T;
}

/** An injection that may be absent: the value is `T | undefined`. */
export interface OptionalService<T> {
  readonly optional: Service<T>;
}

/**
 * Names a service, e.g. `const Payloads = defineService<PayloadStore>("payloads")`. The ids `audit`, `database`, `endpoint-host`,
 * `files`, `lists`, `management`, `metrics` and `store` are services of the gateway.
 *
 * @example const Visits = defineService<VisitsService>("visits");
 */
export function defineService<T>(id: string): Service<T> {
  return { id };
}

/**
 * Marks an injected service as one the plugin can do without.
 *
 * @example definePlugin({ name: "doorman", inject: { payloads: optional(Payloads) }, setup });
 */
export function optional<T>(service: Service<T>): OptionalService<T> {
  return { optional: service };
}

/**
 * What a plugin's `inject` map declares.
 *
 * @example const inject = { visits: Visits, payloads: optional(Payloads) } satisfies Inject;
 */
export type Inject = Readonly<Record<string, Service<unknown> | OptionalService<unknown>>>;

/** The values a plugin's `setup` receives for its `inject` map. */
export type Injected<I extends Inject> = {
  readonly [K in keyof I]: I[K] extends OptionalService<infer T>
    ? T | undefined
    : I[K] extends Service<infer T>
      ? T
      : never;
};
