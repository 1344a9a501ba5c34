// The findings, only as many of them in the page as can be seen: ten thousand scroll like ten.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Item } from "./model";
import { ownPlace, placeWords, threadWords } from "./model";

const kRow = 66; // height of a row, as style.css has it
const kMore = 8; // rows above and below what is seen

export function List(props: { items: Item[]; selected: Item | undefined; onSelect: (item: Item) => void; traces: boolean }) {
  const { items, selected, onSelect } = props;
  const ref = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(800);
  useLayoutEffect(() => {
    const element = ref.current!;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const at = selected ? items.indexOf(selected) : -1;
  useEffect(() => {
    const element = ref.current!;
    if (at < 0) return;
    const y = at * kRow;
    if (y < element.scrollTop) element.scrollTop = y;
    else if (y + kRow > element.scrollTop + element.clientHeight) element.scrollTop = y + kRow - element.clientHeight;
  }, [at]);

  const first = Math.max(0, Math.floor(top / kRow) - kMore);
  const last = Math.min(items.length, Math.ceil((top + height) / kRow) + kMore);
  return (
    <div class="list" ref={ref} role="listbox" tabIndex={0} aria-label="Findings" aria-activedescendant={at >= 0 ? `row-${at}` : undefined} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
      <div style={{ height: `${items.length * kRow}px`, position: "relative" }}>
        {items.slice(first, last).map((item, i) => {
          const index = first + i;
          return (
            <div key={index} id={`row-${index}`} role="option" aria-selected={item === selected} aria-posinset={index + 1} aria-setsize={items.length} class={`row${item === selected ? " selected" : ""}${item.leftOut ? " left-out" : ""}`} style={{ top: `${index * kRow}px` }} onClick={() => onSelect(item)}>
              <span class="row-head">{item.finding.headline}</span>
              <span class="row-sub">{summary(item)}</span>
              <span class="row-sub">
                <span class={`dot ${item.finding.certainty}`} /> {item.finding.check}
                {item.finding.certainty !== "observed" && `, ${item.finding.certainty}`}
                {item.finding.count > 1 && ` · ${item.finding.count}×`}
                {item.leftOut && " · left out"}
                {props.traces && ` · ${item.report.trace.file}`}
              </span>
            </div>
          );
        })}
      </div>
      {items.length === 0 && <p class="empty">No finding passes these filters.</p>}
    </div>
  );
}

/** "T1 transfer.cc:8, T2 deposit.cc:12" */
function summary(item: Item): string {
  const seen: string[] = [];
  for (const site of item.finding.sites) {
    const text = `${threadWords(site.thread)} ${placeWords(ownPlace(site)) || "#" + site.event}`;
    if (!seen.includes(text)) seen.push(text);
    if (seen.length === 4) break;
  }
  return seen.join(", ");
}
