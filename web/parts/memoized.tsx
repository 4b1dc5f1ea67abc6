import { Component, type VNode } from "preact";

/** A component that is drawn again only when a property is another value. */
export function memoized<P extends object>(draw: (props: P) => VNode): new () => Component<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const names = Object.keys(next) as (keyof P)[];
      return names.some((name) => next[name] !== this.props[name]);
    }

    override render(props: P): VNode {
      return draw(props);
    }
  };
}
