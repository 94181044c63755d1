"""The photographs' captions as training text: cleaned, weighted by agreement, and questions and answers derived by rules."""
import collections
import math
import os
import re

CAPTION_PROMPTS = ["Describe this moment.", "What is happening?", "Describe the picture.", "What do you see?"]

# Words that can stand for one another: neither may be used as a 'wrong' object where the other is in the captions.
KINDS = [
    "man men guy guys person people woman women boy boys girl girls child children kid kids toddler baby lady male female adult "
    "adults youth couple crowd group team player players family friends someone".split(),
    "dog dogs puppy puppies animal animals greyhound greyhounds terrier retriever".split(),
    "bike bikes bicycle bicycles biker bikers cyclist cyclists bicyclist motorcycle motorcycles motorbike rider riders motorcyclist dirtbike".split(),
    "water ocean sea lake river pool wave waves beach sand shore surf surfer puddle pond fountain swimmer splash".split(),
    "snow ice ski skis skier skiers snowboard snowboarder slope sled mountain mountains hill cliff rock rocks climber".split(),
    "car cars truck vehicle vehicles van race street road traffic bus sidewalk city".split(),
    "ball balls football soccer basketball baseball tennis game field uniform uniforms sport racket".split(),
    "grass field lawn yard park tree trees forest woods leaves flowers plant garden".split(),
    "hat cap helmet shirt jacket dress coat clothes outfit shorts pants jeans suit sunglasses glasses".split(),
    "building buildings house wall window door fence bench table chair".split(),
    "skateboard skateboarder skateboarders skater skateboarding ramp skates".split(),
    "horse horses bull cow rodeo cowboy".split(), "cat cats kitten".split(), "bird birds duck".split(), "camera picture photo".split(),
    "boat boats kayak canoe".split(), "stick frisbee toy toys rope leash".split(), "guitar band stage microphone".split(),
    "swing slide playground trampoline".split(),
]
OBJECTS = ("man woman boy girl child baby dog cat horse bird bike car truck bus boat ball football snow beach pool ocean river "
           "mountain tree grass fence bench table chair hat helmet camera skateboard surfboard guitar flag umbrella "
           "crowd building frisbee stick motorcycle kayak swing slide flower tent rope rock tennis").split()
SAME = {"man": "men guy male", "woman": "women lady female", "boy": "boys", "girl": "girls", "child": "children kid kids toddler boy boys girl girls baby",
        "baby": "infant toddler babies", "dog": "dogs puppy puppies greyhound greyhounds terrier", "bike": "bikes bicycle bicycles cyclist biker bicyclist",
        "motorcycle": "motorcycles motorbike motorcyclist", "snow": "snowy snowboarder skier", "beach": "shore", "ocean": "sea waves wave", "ball": "balls basketball baseball soccer",
        "tree": "trees woods forest", "rock": "rocks cliff boulder", "mountain": "mountains hill hills", "car": "cars", "horse": "horses", "bird": "birds duck ducks"}


def read_captions(folder):
    """{file: [caption, ...]} cleaned: single spaces, capital first letter, a full stop at the end."""
    captions = collections.defaultdict(list)
    with open(os.path.join(folder, "captions.tsv"), encoding="utf-8") as f:
        for line in f:
            name, text = line.rstrip("\n").split("\t", 1)
            text = re.sub(r"\s+([.,;:!?'])", r"\1", re.sub(r"\s+", " ", text.replace('"', " ")).strip()).rstrip(" .;,!")
            text = text.replace(" 's", "'s").replace(" - ", "-")
            captions[name].append(text[:1].upper() + text[1:] + "." if text else "")
    return captions


def read_lists(folder):
    """{"train": [file, ...], "dev": [file, ...]}: the pictures of each split, in the order of the lists."""
    lists = {}
    for split in ("train", "dev"):
        with open(os.path.join(folder, split + ".txt"), encoding="utf-8") as f:
            lists[split] = f.read().split()
    return lists


def words(text):
    return re.findall(r"[a-z0-9']+", text.lower())


def agreement(captions):
    """For each caption how much of it the other four say too, by tf-idf over words and pairs: the common view of a picture."""
    df, n = collections.Counter(), 0
    grams = lambda t: [tuple(w[i:i + k]) for w in [words(t)] for k in (1, 2) for i in range(len(w) - k + 1)]
    for texts in captions.values():
        df.update(set(g for t in texts for g in grams(t)))
        n += 1
    scores = {}
    for name, texts in captions.items():
        vecs = []
        for t in texts:
            v = collections.Counter(grams(t))
            v = {g: c * math.log(n / df[g]) for g, c in v.items()}
            norm = math.sqrt(sum(x * x for x in v.values())) or 1.0
            vecs.append({g: x / norm for g, x in v.items()})
        dot = lambda a, b: sum(x * b[g] for g, x in a.items() if g in b)
        scores[name] = [sum(dot(a, b) for j, b in enumerate(vecs) if j != i) / max(1, len(vecs) - 1) for i, a in enumerate(vecs)]
    return scores


def kind_of(word):
    return next((k for k in KINDS if word in k), None)


def article(noun):
    if noun in ("snow", "grass", "tennis", "football"):
        return noun
    return f"a{'n' if noun[0] in 'aeiou' else ''} {noun}"


def weighted_pick(rng, scores, k, sharpness):
    """k different indices, likelier where the agreement is high."""
    keys = [(rng.random() ** (1.0 / math.exp(sharpness * (s - max(scores)))), i) for i, s in enumerate(scores)]
    return [i for _, i in sorted(keys, reverse=True)[:k]]
