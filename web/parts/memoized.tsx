import { Component, type FunctionComponent, type VNode } from "preact";

/** A component that is drawn again only when a property is another value. */
export function memoized<P extends object>(draw: FunctionComponent<P>): new () => Component<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const names = Object.keys(next) as (keyof P)[];
      return names.some((name) => next[name] !== this.props[name]);
    }

    override render(): VNode {
      const Draw = draw;
      return <Draw {...this.props} />;
    }
  };
}
