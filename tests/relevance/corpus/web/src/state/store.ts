export interface Passenger {
  name: string;
  age: number;
}

export interface State {
  passengers: Passenger[];
  sailing?: string;
  language: "da" | "en" | "zh";
}

export type Action =
  | { type: "sailing/chosen"; sailing: string }
  | { type: "passenger/added"; passenger: Passenger }
  | { type: "language/changed"; language: State["language"] };

const initial: State = { passengers: [], language: "en" };

export function reducer(state: State = initial, action: Action): State {
  switch (action.type) {
    case "sailing/chosen":
      return { ...state, sailing: action.sailing };
    case "passenger/added":
      return { ...state, passengers: [...state.passengers, action.passenger] };
    case "language/changed":
      return { ...state, language: action.language };
    default:
      return state;
  }
}

type Listener = () => void;

/** A store: the state, dispatch, and subscribers that are told after every action. */
export function createStore(reduce: typeof reducer) {
  let state = initial;
  const listeners = new Set<Listener>();
  return {
    getState: () => state,
    dispatch(action: Action) {
      state = reduce(state, action);
      listeners.forEach((listener) => listener());
    },
    subscribe(listener: Listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
