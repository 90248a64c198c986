import { ROOT_CONTEXT, type Context, type ContextManager } from "@opentelemetry/api";

/** A call that knows the context it is in. */
export interface Situated {
  /** Made when somebody asks. */
  context(): Context;
}

/**
 * The context of the moment, for code of this process that makes spans of its own. To carry it through every promise is a hook on
 * each of them on Node 20, and most gateways have nobody who asks: what is known at no cost is the stage of a relayed call
 * that runs at this moment. {@link isAsked} tells once somebody wants more.
 */
export class Contexts implements ContextManager {
  readonly #carried: ContextManager;
  #stage: Situated | undefined;
  #isAsked = false;

  constructor(carried: ContextManager) {
    this.#carried = carried;
  }

  /** Whether somebody asked who would want relayed calls to carry their context: not work in this process, which has one. */
  get isAsked(): boolean {
    return this.#isAsked;
  }

  /** The stages of a relayed call, while they run in one turn. */
  get stage(): Situated | undefined {
    return this.#stage;
  }

  active(): Context {
    const now = this.now();
    if (this.#stage || now === ROOT_CONTEXT) this.#isAsked = true;
    return now;
  }

  /** The same, for the parents of calls. */
  now(): Context {
    return this.#stage?.context() ?? this.#carried.active();
  }

  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    context: Context,
    work: F,
    self?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    const around = this.enter(undefined);
    try {
      return this.#carried.with(context, work, self, ...args);
    } finally {
      this.enter(around);
    }
  }

  /** Puts the stages of a call in the place of what runs, and returns that. */
  enter(stage: Situated | undefined): Situated | undefined {
    const around = this.#stage;
    this.#stage = stage;
    return around;
  }

  bind<T>(context: Context, target: T): T {
    if (typeof target !== "function") return this.#carried.bind(context, target);
    const run = (self: unknown, args: unknown[]): unknown =>
      this.with(context, () => Reflect.apply(target, self, args) as unknown);
    return function (this: unknown, ...args: unknown[]) {
      return run(this, args);
    } as T;
  }

  enable(): this {
    this.#carried.enable();
    return this;
  }

  disable(): this {
    this.#carried.disable();
    return this;
  }
}
