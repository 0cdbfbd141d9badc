// A long list of which only the rows on screen exist: spacers above and below stand for the others.

const SPARE = 8;

export class VirtualRows {
  // `build(index)` makes the element of a row; `spacer(height)` one that takes the room of those left out, and
  // `nothing()` what is there where no row is.
  constructor(scroller, body, rowHeight, build, spacer, nothing) {
    Object.assign(this, { scroller, body, rowHeight, build, spacer, nothing });
    this.count = 0;
    this.frame = 0;
    scroller.addEventListener("scroll", () => this.later(), { passive: true });
    new ResizeObserver(() => this.later()).observe(scroller);
  }

  show(count) {
    this.count = count;
    this.render();
  }

  later() {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.render());
  }

  render() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const { scroller, rowHeight, count } = this;
    if (!scroller.clientHeight) return;
    if (!count) {
      this.body.replaceChildren(this.nothing());
      return;
    }
    const top = Math.max(0, scroller.scrollTop - this.headHeight());
    const first = Math.max(0, Math.min(count, Math.floor(top / rowHeight)) - SPARE);
    const last = Math.min(count, Math.ceil((top + scroller.clientHeight) / rowHeight) + SPARE);
    const focused = this.body.contains(document.activeElement) ? document.activeElement.closest("[data-row]") : null;
    const rows = [];
    for (let index = first; index < last; index++) rows.push(this.build(index));
    this.body.replaceChildren(this.spacer(first * rowHeight), ...rows, this.spacer((count - last) * rowHeight));
    if (focused) this.focusRow(focused.dataset.row);
  }

  // Rows are made anew; whoever uses them by keyboard stays where they were.
  focusRow(name) {
    this.body.querySelector(`[data-row="${name}"] button`)?.focus({ preventScroll: true });
  }

  headHeight() {
    return this.body === this.scroller ? 0 : this.body.offsetTop;
  }

  reveal(index) {
    const { scroller, rowHeight } = this;
    const top = index * rowHeight;
    const room = scroller.clientHeight - this.headHeight() - rowHeight;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top > scroller.scrollTop + room) scroller.scrollTop = top - room / 2;
    this.render();
  }
}
