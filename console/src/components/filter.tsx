// A box for filters in the language of docs/reference/filter-fields.md, with completions.

import type { JSX } from "preact";
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import type { CallError } from "../api";
import { type Completion, type FilterField, complete } from "../complete";
import { useKeys } from "../hooks";

export function FilterBox(props: {
  value: string;
  onChange: (filter: string) => void;
  fields: readonly FilterField[];
  // Shown below the box if the server refused the filter.
  error?: CallError | undefined;
  placeholder?: string;
  label?: string;
}): JSX.Element {
  const [text, setText] = useState(props.value);
  const [caret, setCaret] = useState(props.value.length);
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  useEffect(() => setText(props.value), [props.value]);
  useKeys((event) => {
    if (event.key !== "/") return;
    event.preventDefault();
    input.current?.focus();
    input.current?.select();
  });

  const completions = useMemo<Completion[]>(
    () => (open ? complete(text, caret, props.fields) : []),
    [open, text, caret, props.fields],
  );
  const submit = (value: string): void => {
    setOpen(false);
    setActive(-1);
    if (value.trim() !== props.value) props.onChange(value.trim());
  };
  const accept = (completion: Completion): void => {
    const next = text.slice(0, completion.from) + completion.insert + text.slice(completion.to);
    const position = completion.from + completion.insert.length;
    setText(next);
    setCaret(position);
    setActive(-1);
    requestAnimationFrame(() => {
      input.current?.focus();
      input.current?.setSelectionRange(position, position);
    });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Escape") {
      if (completions.length > 0) setOpen(false);
      else input.current?.blur();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (completions.length === 0) {
        setOpen(true);
        return;
      }
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      setActive((active + step + completions.length + 1) % (completions.length + 1));
    } else if (event.key === "Enter" || (event.key === "Tab" && active >= 0)) {
      const chosen = completions[active];
      if (chosen) {
        event.preventDefault();
        accept(chosen);
      } else if (event.key === "Enter") {
        submit(text);
        // The keys j and k then move in the table.
        input.current?.blur();
      }
    }
  };

  return (
    <form
      class="filter"
      role="search"
      aria-label={props.label ?? "Filter"}
      onSubmit={(event) => {
        event.preventDefault();
        submit(text);
      }}
    >
      <div class="filter-box">
        <input
          ref={input}
          type="text"
          value={text}
          placeholder={props.placeholder ?? "Filter, for example gpu.model = H200"}
          aria-label={props.label ?? "Filter"}
          role="combobox"
          aria-expanded={completions.length > 0}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={active >= 0 ? `${id}-${active}` : undefined}
          aria-invalid={props.error?.code === "invalid_argument"}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setCaret(event.currentTarget.selectionStart ?? event.currentTarget.value.length);
            setOpen(true);
            setActive(-1);
          }}
          onFocus={() => setOpen(true)}
          onClick={(event) => setCaret(event.currentTarget.selectionStart ?? 0)}
          onBlur={() => setOpen(false)}
          onKeyDown={onKeyDown}
        />
        {text && (
          <button
            type="button"
            class="clear"
            aria-label="Clear the filter"
            onClick={() => {
              setText("");
              submit("");
            }}
          >
            ×
          </button>
        )}
        <kbd aria-hidden="true">/</kbd>
        {completions.length > 0 && (
          <ul class="completions" id={`${id}-list`} role="listbox" aria-label="Completions">
            {completions.map((completion, index) => (
              <li
                key={completion.label}
                id={`${id}-${index}`}
                role="option"
                aria-selected={index === active}
                class={index === active ? "active" : undefined}
                onMouseDown={(event) => {
                  event.preventDefault();
                  accept(completion);
                }}
              >
                <span>{completion.label}</span>
                <span class="muted">{completion.detail}</span>
              </li>
            ))}
          </ul>
        )}
      </div>
      {props.error?.code === "invalid_argument" && (
        <p class="error" role="alert">
          {props.error.message}
        </p>
      )}
    </form>
  );
}
