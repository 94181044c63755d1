"""Questions about a photograph and their answers, derived from its captions by rules: for training, and for the dev split's examination.

Each picture's five captions vote. The answer trained is the one most of them give; `accepted` holds every answer that one of them gives.
"""
import collections
import re

import data as D

# The words for a subject, told as the first of each line. Plurals stand in PLURAL.
SUBJECTS = [
    "man men guy guys gentleman", "woman women lady ladies", "boy boys", "girl girls", "child children kid kids toddler toddlers", "baby babies infant",
    "dog dogs puppy puppies", "person people", "cat cats kitten", "horse horses", "bird birds", "player players",
    "cyclist cyclists biker bikers bicyclist bicyclists", "skateboarder skateboarders", "snowboarder snowboarders", "skier skiers", "surfer surfers",
    "climber climbers", "couple couples", "group crowd",
]
SUBJECT_OF = {w: line.split()[0] for line in SUBJECTS for w in line.split()}
PLURAL = {"man": "men", "woman": "women", "boy": "boys", "girl": "girls", "child": "children", "baby": "babies", "dog": "dogs", "person": "people",
          "cat": "cats", "horse": "horses", "bird": "birds", "player": "players", "cyclist": "cyclists", "couple": "couples",
          "skateboarder": "skateboarders", "snowboarder": "snowboarders", "skier": "skiers", "surfer": "surfers", "climber": "climbers"}
MANY = set(PLURAL.values()) | set("guys ladies kids toddlers puppies bikers bicyclists".split())
NUMBERS = {"a": 1, "an": 1, "the": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
NUMBER_NAMES = {1: "One", 2: "Two", 3: "Three", 4: "Four", 5: "Five", 6: "Six"}
COLOURS = "black white brown red blue green yellow orange pink purple gray tan blond".split()
COLOUR_OF = {**{c: c for c in COLOURS}, "grey": "gray", "golden": "tan", "blonde": "blond"}
COLOURED = ("dog shirt jacket car hat bike ball dress helmet coat horse truck frisbee shorts uniform toy cap suit hair pants bikini swimsuit sweater "
            "collar kayak boat vest jersey t-shirt bird cat slide").split()
PLACES = {"snow": "In the snow", "water": "In the water", "ocean": "In the ocean", "grass": "In the grass", "beach": "On the beach", "street": "On the street",
          "pool": "In a pool", "park": "In a park", "field": "In a field", "sand": "On the sand", "woods": "In the woods", "forest": "In the woods",
          "road": "On a road", "sidewalk": "On the sidewalk", "river": "In a river", "lake": "In a lake", "city": "In a city", "yard": "In a yard",
          "mountain": "On a mountain", "mountains": "On a mountain", "track": "On a track", "stage": "On a stage", "playground": "On a playground",
          "couch": "On a couch", "bed": "On a bed", "kitchen": "In a kitchen", "room": "In a room", "restaurant": "In a restaurant", "bench": "On a bench",
          "court": "On a court", "trail": "On a trail", "dirt": "On the dirt", "ice": "On the ice", "creek": "In a creek", "wall": "On a wall", "pavement": "On the pavement"}
NOT_VERBS = set("wearing during building ring string spring clothing evening including morning sing king thing something nothing wing swing ceiling railing "
                "being having using according following surrounding clothing lightning painting dressing crossing".split())
ABSENT = "Not in this footage."
# What is played without an article.
PLAYED = ("soccer", "football", "basketball", "baseball", "tennis", "guitar", "music", "volleyball", "hockey")


class Verbs:
    """Third-person forms to -ing forms, by the -ing forms that the captions use themselves."""

    def __init__(self, captions):
        self.seen = collections.Counter(w for texts in captions.values() for t in texts for w in D.words(t) if w.endswith("ing") and len(w) > 4 and w not in NOT_VERBS)
        self.seen = {w: c for w, c in self.seen.items() if c >= 15}

    def of(self, word):
        if word in self.seen:
            return word
        if len(word) < 3 or not word.endswith("s") or word.endswith("ss"):
            return None
        base = word[:-2] if word.endswith(("ches", "shes", "sses")) else word[:-1]
        forms = [base + "ing", base[:-1] + "ing" if base.endswith("e") else "", base + base[-1] + "ing", base[:-1] + "ying" if base.endswith("ie") else ""]
        forms = [f for f in forms if f in self.seen]
        return max(forms, key=self.seen.get) if forms else None


class Examiner:
    """Makes the questions of a picture. `captions`: {picture: [caption]} of the training split, from which verbs are learned."""

    def __init__(self, captions):
        self.verbs = Verbs(captions)

    def read(self, text):
        """What one caption says: subject, how many, verb with its object, place, coloured things."""
        w = [x.rstrip("'s") if x.endswith("'s") else x for x in re.findall(r"[a-z0-9'-]+", text.lower())]
        said = dict(subject=None, count=None, verb=None, object=None, place=None, colours=[])
        for i, x in enumerate(w[:7]):
            if x in SUBJECT_OF:
                if x in ("group", "crowd") and i + 2 < len(w) and w[i + 1] == "of":
                    inner = next((SUBJECT_OF[y] for y in w[i + 2:i + 5] if y in SUBJECT_OF), "person")
                    said["subject"], said["count"] = inner, "group"
                    i += 2
                else:
                    said["subject"] = SUBJECT_OF[x]
                    said["count"] = next((NUMBERS[y] for y in reversed(w[:i]) if y in NUMBERS), None)
                    if x in MANY and said["count"] == 1:
                        said["count"] = None
                    if "and" in w[i + 1:i + 2]:
                        said["count"] = None
                for j in range(i + 1, min(i + 8, len(w))):
                    v = self.verbs.of(w[j])
                    if v and w[j] not in ("s", "is", "its", "his") and w[j] not in PLURAL.values():
                        said["verb"] = v
                        rest = w[j + 1:j + 4]
                        if rest[:1] and rest[0] in ("a", "an", "the") and len(rest) > 1:
                            noun = next((y for y in rest[1:] if y not in COLOUR_OF and y not in ("large", "small", "big", "little")), None)
                            said["object"] = noun
                        elif rest[:1] and rest[0] in PLAYED:
                            said["object"] = rest[0]
                        break
                break
        for i, x in enumerate(w):
            if x in PLACES and i and any(y in ("in", "on", "through", "at", "across", "down", "along", "into", "onto") for y in w[max(0, i - 3):i]):
                said["place"] = x
                break
        for i, x in enumerate(w[:-1]):
            if x in COLOUR_OF and w[i - 1] not in ("and", *COLOUR_OF) and w[i + 1] in COLOURED:
                said["colours"].append((w[i + 1], COLOUR_OF[x]))
        return said

    def questions(self, texts):
        """[(kind, question, answer, accepted, noun)]: `noun` is the thing that the question names, None where it names none. The
        yes/no questions and those about absent things are left to `whether` and `absent`."""
        reads = [self.read(t) for t in texts if t]
        out = []
        subjects = collections.Counter(r["subject"] for r in reads if r["subject"])
        subject = None
        if subjects:
            subject, votes = subjects.most_common(1)[0]
            counts = collections.Counter(r["count"] for r in reads if r["subject"] == subject and r["count"])
            phrases = collections.Counter(phrase(r["subject"], r["count"]) for r in reads if r["subject"] and (r["count"] or r["subject"] in ("couple",)))
            if phrases and votes >= 2:
                best = next((p for p, _ in phrases.most_common() if subject in p or PLURAL.get(subject, "#") in p), phrases.most_common(1)[0][0])
                out.append(("who", "Who or what is in the picture?", best, set(phrases), None))
            verbs = collections.Counter(r["verb"] for r in reads if r["verb"])
            if verbs and votes >= 2:
                verb, agree = verbs.most_common(1)[0]
                if agree >= 2:
                    objects = collections.Counter(r["object"] for r in reads if r["verb"] == verb and r["object"])
                    accepted = {v.capitalize() + "." for v in verbs} | {doing(r["verb"], r["object"]) for r in reads if r["verb"] and r["object"]}
                    noun, hits = objects.most_common(1)[0] if objects else (None, 0)
                    answer = doing(verb, noun) if hits >= 2 else verb.capitalize() + "."
                    several = counts and counts.most_common(1)[0][0] != 1
                    named = PLURAL.get(subject, subject) if several else subject
                    out.append(("doing", f"What {'are' if several else 'is'} the {named} doing?", answer, accepted | {answer}, subject))
            if subject in PLURAL and counts:
                count, agree = counts.most_common(1)[0]
                if count != "group" and agree >= 3:
                    out.append(("how many", f"How many {PLURAL[subject]} are there?", NUMBER_NAMES[count] + ".", {NUMBER_NAMES[c] + "." for c in counts if c != "group"}, subject))
        places = collections.Counter(r["place"] for r in reads if r["place"])
        if places and places.most_common(1)[0][1] >= 2:
            answer, accepted = PLACES[places.most_common(1)[0][0]] + ".", {PLACES[p] + "." for p in places}
            out.append(("where", "Where is this?", answer, accepted, None))
            if subject and subjects[subject] >= 3:
                several = counts and counts.most_common(1)[0][0] != 1
                out.append(("where", f"Where {'are' if several else 'is'} the {PLURAL.get(subject, subject) if several else subject}?", answer, accepted, subject))
        things = collections.defaultdict(collections.Counter)
        for r in reads:
            for noun, colour in dict.fromkeys(r["colours"]):
                things[noun][colour] += 1
        for noun, colours in things.items():
            colour, votes = colours.most_common(1)[0]
            if votes >= 2 and votes > sum(colours.values()) / 2:
                verb = "are" if noun in ("shorts", "pants") else "is"
                out.append(("colour", f"What color {verb} the {noun}?", colour.capitalize() + ".", {c.capitalize() + "." for c in colours}, noun))
        return out

    def whether(self, texts, rng):
        """One question with the answer Yes and one with No, each as from `questions`; either may be missing."""
        present, firmly, absent = sure_of(texts)
        out = []
        if firmly:
            o = rng.choice(firmly)
            out.append(("yes", f"Is there {D.article(o)} in the picture?", f"Yes, there is {D.article(o)}.", {f"Yes, there is {D.article(o)}."}, o))
        if absent:
            o = rng.choice(absent)
            out.append(("no", f"Is there {D.article(o)} in the picture?", f"No, there is no {o}.", {f"No, there is no {o}."}, o))
        return out

    def absent(self, texts, rng):
        """A question that presupposes what is not there, or None."""
        absent = set(sure_of(texts)[2])
        choices = [(f"What is the {s} doing?", s) for s in ("man", "woman", "boy", "girl", "dog", "child", "baby", "horse", "cat", "bird") if s in absent]
        choices += [(f"What color is the {o}?", o) for o in ("dog", "car", "bike", "ball", "hat", "truck", "boat", "horse", "helmet", "frisbee", "kayak") if o in absent]
        choices += [(f"Where is the {o}?", o) for o in ("dog", "horse", "man", "woman", "boy", "girl", "child", "cat", "bird") if o in absent]
        if not choices:
            return None
        question, noun = rng.choice(choices)
        return "absent", question, ABSENT, {ABSENT}, noun


def may_show(noun, said):
    """Whether a picture whose captions use the words `said` may show `noun`, under any of its names."""
    names = {noun, PLURAL.get(noun, noun + "s"), *D.SAME.get(noun, "").split(), *(w for w, s in SUBJECT_OF.items() if s == noun)}
    return bool(said & (names | set(D.kind_of(noun) or [])))


def phrase(subject, count):
    if count == "group":
        return f"A group of {PLURAL.get(subject, 'people')}."
    if count in (None, 1):
        return f"A {subject}."
    return f"{NUMBER_NAMES[count]} {PLURAL.get(subject, subject)}."


def doing(verb, noun):
    return f"{verb.capitalize()} {noun}." if noun in PLAYED else f"{verb.capitalize()} {D.article(noun)}."


def sure_of(texts):
    """Objects (said at all, said by two captions or more, surely not there). A kind that any caption touches is not surely absent."""
    said = set(w for t in texts for w in D.words(t))
    names = lambda o: {o, o + "s", *D.SAME.get(o, "").split()}
    present = [o for o in D.OBJECTS if names(o) & said]
    firmly = [o for o in present if sum(1 for t in texts if names(o) & set(D.words(t))) >= 2]
    absent = [o for o in D.OBJECTS if o not in present and not (set(D.kind_of(o) or []) & said)]
    return present, firmly, absent
