import { useEffect, useRef, useState, type ReactNode } from "react";
import type { Plot, PlotData, PlotOptions } from "./plot.ts";

/** A line over time: its title, its figure of now or where the pointer is, and the drawing. */
export function Chart(props: {
  readonly title: string;
  readonly data: PlotData;
  readonly colour: PlotOptions["colour"];
  readonly least: number;
  /** A value in words. */
  readonly format: (value: number) => string;
}): ReactNode {
  const { title, data, format } = props;
  const [point, setPoint] = useState<number>();
  const drawing = usePlot(props, setPoint);
  const at = point !== undefined && point < data.values.length ? point : undefined;
  const index = at ?? data.values.length - 1;
  const said = (value: number | null | undefined): string => (value == null ? "–" : format(value));
  const highest = data.values.reduce<number | null>(
    (most, value) => (value === null ? most : Math.max(most ?? value, value)),
    null,
  );
  const now = said(data.values.at(-1));
  return (
    <figure className="chart" aria-label={title}>
      <figcaption>
        <span className="faint">{title}</span>
        <div className="row between">
          <span className="figure">{said(data.values[index])}</span>
          <span className="faint">
            {at === undefined
              ? `highest ${said(highest)}`
              : new Date(data.times[at]! * 1_000).toTimeString().slice(0, 5)}
          </span>
        </div>
      </figcaption>
      <div
        className="plot"
        ref={drawing}
        role="img"
        aria-label={`${title} in the last hour: ${now} now, ${said(highest)} at most`}
      />
    </figure>
  );
}

/** The library is loaded when the first chart is on the screen. */
function usePlot(
  {
    data,
    colour,
    least,
    format,
  }: Pick<PlotOptions, "colour" | "least" | "format"> & {
    readonly data: PlotData;
  },
  onPoint: PlotOptions["onPoint"],
): React.RefObject<HTMLDivElement | null> {
  const element = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot>(undefined);
  const latest = useRef(data);
  useEffect(() => {
    latest.current = data;
    plot.current?.show(data);
  }, [data]);
  useEffect(() => {
    let isGone = false;
    void import("./plot.ts").then(
      ({ Plot: Drawn }) => {
        if (isGone || !element.current) return;
        const options = { colour, least, format, onPoint };
        plot.current = new Drawn(element.current, latest.current, options);
      },
      // Without the drawing the figures are still there.
      () => {},
    );
    return () => {
      isGone = true;
      plot.current?.close();
      plot.current = undefined;
    };
  }, [colour, least, format, onPoint]);
  return element;
}
