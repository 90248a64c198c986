import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";

/** Pixels: of the line of hours, and of the numbers beside. */
const BELOW = 22;
const BESIDE = 44;

/** What is drawn. */
export interface PlotData {
  /** Seconds since 1970. */
  readonly times: readonly number[];
  /** `null`: the line is broken there. */
  readonly values: readonly (number | null)[];
}

/** How it is drawn. */
export interface PlotOptions {
  /** Name of a colour in the style sheet, such as `--ok`. */
  readonly colour: string;
  /** The top is at least here, so that a flat line is flat. */
  readonly least: number;
  readonly format: (value: number) => string;
  /** Where the pointer is; `undefined` when it leaves. */
  readonly onPoint: (index: number | undefined) => void;
}

/** One line over time, on a canvas that fills its element and follows its size and the theme. */
export class Plot {
  readonly #plot: UPlot;
  readonly #size: ResizeObserver;
  readonly #theme: MutationObserver;
  readonly #scheme = matchMedia("(prefers-color-scheme: dark)");

  constructor(element: HTMLElement, data: PlotData, options: PlotOptions) {
    const size = () => ({ width: element.clientWidth, height: element.clientHeight });
    this.#plot = new UPlot({ ...size(), ...optionsOf(element, options) }, toColumns(data), element);
    this.#size = new ResizeObserver(() => this.#plot.setSize(size()));
    this.#size.observe(element);
    this.#theme = new MutationObserver(this.#redraw);
    this.#theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    this.#scheme.addEventListener("change", this.#redraw);
  }

  show(data: PlotData): void {
    this.#plot.setData(toColumns(data));
  }

  close(): void {
    this.#size.disconnect();
    this.#theme.disconnect();
    this.#scheme.removeEventListener("change", this.#redraw);
    this.#plot.destroy();
  }

  #redraw = (): void => this.#plot.redraw();
}

function toColumns({ times, values }: PlotData): UPlot.AlignedData {
  return [[...times], [...values]];
}

function optionsOf(
  element: HTMLElement,
  { colour, least, format, onPoint }: PlotOptions,
): Omit<UPlot.Options, "width" | "height"> {
  // A canvas has no access to variables of CSS. They are read at each drawing, so that a new theme shows.
  const colourOf = (name: string): string => {
    const probe = getComputedStyle(element).getPropertyValue(name);
    return resolve(element, probe);
  };
  const axis = {
    stroke: () => colourOf("--faint"),
    grid: { stroke: () => colourOf("--line"), width: 1 },
    ticks: { show: false },
    font: "11px system-ui, sans-serif",
  };
  return {
    legend: { show: false },
    cursor: { y: false, sync: { key: "hour" }, drag: { x: false, y: false } },
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(max ?? 0, least)] } },
    axes: [
      { ...axis, size: BELOW, space: 72, values: (_plot, times) => times.map(clockOf) },
      { ...axis, size: BESIDE, space: 32, values: (_plot, values) => values.map(format) },
    ],
    series: [
      {},
      {
        stroke: () => colourOf(colour),
        fill: () => `color-mix(in srgb, ${colourOf(colour)} 14%, transparent)`,
        width: 1.5,
        points: { show: (_plot, _series, from, to) => to - from < 2 },
        spanGaps: false,
      },
    ],
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? undefined)] },
  };
}

/** `light-dark()` and variables become a colour. */
function resolve(element: HTMLElement, value: string): string {
  element.style.color = value;
  const { color } = getComputedStyle(element);
  element.style.removeProperty("color");
  return color;
}

function clockOf(seconds: number): string {
  return new Date(seconds * 1_000).toTimeString().slice(0, 5);
}
