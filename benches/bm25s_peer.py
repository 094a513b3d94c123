"""The fused search of one document as a good Python stack does it: bm25s, numpy, and nothing that Plica has.

    pip install bm25s numba
    cargo run --release --manifest-path benches/Cargo.toml --bin peers -- --rows document --export DIR
    taskset -c 0 python benches/bm25s_peer.py DIR/document.json

The same chunks, entities, summaries and questions as in Plica's row: five indexes (chunks, the entities' names, aliases
and descriptions, level-1 summaries), scores of every chunk in each channel, z-scores, the weighted sum 1, 0.5, 0.3, and
the ten best with their texts. What can be worked out before the question is: the links of entities to chunks are flat
arrays. `get_scores` is used, since `retrieve`, the documented call, is slower; the script also says how long that
takes for the text alone. Tokenising the question is timed, as it is in Plica. Medians of all questions after one round that warms up.
"""

import json
import re
import sys
import time

import bm25s
import numpy as np

WORD = re.compile(r"\w+")


def tokens(text):
    return WORD.findall(text.lower())


def index(texts):
    made = bm25s.BM25(k1=1.5, b=0.75)
    made.index([tokens(text) for text in texts], show_progress=False)
    return made


def scores(made, asked):
    known = [token for token in asked if token in made.vocab_dict]
    return made.get_scores(known) if known else np.zeros(made.scores["num_docs"], dtype=np.float32)


def normalised(raw):
    deviation = raw.std()
    return (raw - raw.mean()) / deviation if deviation > 0 else np.zeros_like(raw)


def main(path):
    with open(path, encoding="utf-8") as file:
        given = json.load(file)
    chunks, entities, summaries = given["chunks"], given["entities"], given["summaries"]
    text = index(chunks)
    fields = [
        index([entity["name"] for entity in entities]),
        index([" ".join(entity["aliases"]) for entity in entities]),
        index([" ".join(entity["descriptions"]) for entity in entities]),
    ]
    summary = index(summaries)
    linked = np.concatenate([np.asarray(entity["chunks"], dtype=np.int64) for entity in entities])
    owner = np.repeat(np.arange(len(entities)), [len(entity["chunks"]) for entity in entities])
    covering = np.minimum(np.arange(len(chunks)) // given["fanout"], len(summaries) - 1)
    covered = np.arange(len(chunks)) // given["fanout"] < len(summaries)

    def memory(asked):
        total = np.zeros(len(chunks), dtype=np.float32)
        for field in fields:
            best = np.zeros(len(chunks), dtype=np.float32)
            of_entities = scores(field, asked)
            found = of_entities[owner] > 0
            np.maximum.at(best, linked[found], of_entities[owner[found]])
            total += best
        return total

    def fused(question):
        asked = tokens(question)
        ranked = normalised(scores(text, asked))
        ranked = ranked + 0.5 * normalised(memory(asked))
        ranked = ranked + 0.3 * normalised(np.where(covered, scores(summary, asked)[covering], 0))
        best = np.argpartition(-ranked, 10)[:10]
        best = best[np.argsort(-ranked[best], kind="stable")]
        return [(ranked[at], chunks[at]) for at in best]

    def alone(question):
        ranked = scores(text, tokens(question))
        best = np.argpartition(-ranked, 10)[:10]
        return [(ranked[at], chunks[at]) for at in best[np.argsort(-ranked[best])]]

    def documented(question):
        asked = bm25s.tokenize(question, stopwords=None, show_progress=False)
        return text.retrieve(asked, corpus=chunks, k=10, show_progress=False)

    for name, search in [("fused", fused), ("text alone", alone), ("text alone, retrieve", documented)]:
        times = []
        for counted in range(8):
            for question in given["questions"]:
                start = time.perf_counter()
                search(question)
                if counted:
                    times.append((time.perf_counter() - start) * 1e6)
        print(f"{name} median us: {np.median(times):.1f}")


if __name__ == "__main__":
    main(sys.argv[1])
