"""CIDEr-D and BLEU-4 as image captioning reports them (Vedantam et al. 2015; Papineni et al. 2002), over lower-case words.

CIDEr-D is given on the scale where 1.0 is what papers print as 100: ten times the mean of clipped tf-idf cosines for n = 1..4,
document frequencies from the references of the set itself. A test in tools/eval holds these against worked examples.
"""
import collections
import math
import re


def tokens(text):
    return re.findall(r"[a-z0-9']+", text.lower().replace("-", " "))


def grams(w, n):
    return collections.Counter(tuple(w[i:i + n]) for i in range(len(w) - n + 1))


class Cider:
    """Scores texts against the references of their picture; document frequencies are those of all the references given."""

    def __init__(self, references, sigma=6.0):
        """references: {id: [text, ...]}"""
        self.sigma = sigma
        refs = {i: [tokens(t) for t in texts] for i, texts in references.items()}
        self.df = collections.Counter()
        for texts in refs.values():
            self.df.update(set(g for t in texts for n in range(1, 5) for g in grams(t, n)))
        self.log_n = math.log(max(2, len(refs)))
        self.refs = {i: [self.vector(t) for t in texts] for i, texts in refs.items()}

    def vector(self, w):
        vecs, norms = [], []
        for n in range(1, 5):
            v = {g: c * (self.log_n - math.log(max(1.0, self.df[g]))) for g, c in grams(w, n).items()}
            vecs.append(v)
            norms.append(math.sqrt(sum(x * x for x in v.values())))
        return vecs, norms, len(w)

    def score(self, i, text):
        cv, cn, cl = self.vector(tokens(text))
        total = 0.0
        for rv, rn, rl in self.refs[i]:
            penalty = math.exp(-((cl - rl) ** 2) / (2 * self.sigma ** 2))
            for n in range(4):
                dot = sum(min(x, rv[n].get(g, 0.0)) * rv[n].get(g, 0.0) for g, x in cv[n].items())
                if cn[n] and rn[n]:
                    total += penalty * dot / (cn[n] * rn[n]) / 4
        return 10.0 * total / len(self.refs[i])


def cider(candidates, references):
    """candidates: {id: text}; references: {id: [text, ...]}. Returns (mean, {id: score})."""
    scorer = Cider({i: references[i] for i in candidates})
    scores = {i: scorer.score(i, text) for i, text in candidates.items()}
    return sum(scores.values()) / max(1, len(scores)), scores


def bleu4(candidates, references):
    """Corpus BLEU-4 with the closest reference length."""
    match, total, cand_len, ref_len = [0] * 4, [0] * 4, 0, 0
    for i, text in candidates.items():
        c = tokens(text)
        rs = [tokens(t) for t in references[i]]
        cand_len += len(c)
        ref_len += min((abs(len(r) - len(c)), len(r)) for r in rs)[1]
        for n in range(1, 5):
            cg = grams(c, n)
            best = collections.Counter()
            for r in rs:
                best |= grams(r, n)
            match[n - 1] += sum((cg & best).values())
            total[n - 1] += sum(cg.values())
    if min(match) == 0:
        return 0.0
    precision = sum(math.log(m / t) for m, t in zip(match, total)) / 4
    return math.exp(precision + min(0.0, 1 - ref_len / max(1, cand_len)))
