// Summaries and chapters, markers for editing programs, and sidecars: what is written, byte by byte where it matters.
#include <gtest/gtest.h>

#include <pugixml.hpp>
#include <set>
#include <sstream>

#include "app/engine/caption_digest.h"
#include "app/engine/export_captions.h"
#include "app/engine/export_timeline.h"
#include "app/engine/export_xmp.h"
#include "tests/support/run_process.h"
#include "tests/support/temp_folder.h"

namespace longview {
namespace {

std::vector<Cue> Film(int shots, double each_s) {
  const char* const kTexts[] = {"A dog runs on grass", "A dog sleeps on grass", "A red car drives in snow",
                                "A red car stops in snow"};
  std::vector<Cue> cues;
  for (int i = 0; i < shots; ++i) {
    const int text = i * 2 / shots * 2 + i % 2;  // dogs in the first half, cars in the second
    cues.push_back({i * each_s, (i + 1) * each_s, kTexts[text]});
  }
  return cues;
}

TEST(CaptionDigest, SummaryTakesWhatStandsForMostOfTheFilm) {
  const std::vector<Cue> cues = {{0, 40, "A man rides a bicycle"},
                                 {40, 42, "A cat"},
                                 {42, 80, "A man rides a bicycle"},
                                 {80, 110, "Snow falls on trees"}};
  const CaptionDigest digest = DigestCaptions(cues, 110);
  EXPECT_EQ(digest.summary, "A man rides a bicycle. Snow falls on trees.");
  EXPECT_EQ(DigestCaptions({}, 10).summary, "");
  EXPECT_TRUE(DigestCaptions({}, 10).chapters.empty());
  const std::vector<Cue> wordless = {{0, 1, "..."}, {1, 2, "the"}};
  EXPECT_FALSE(DigestCaptions(wordless, 2).chapters.empty());
}

TEST(CaptionDigest, ChaptersFollowWhatIsSpokenOfAndTileTheFilm) {
  const CaptionDigest digest = DigestCaptions(Film(20, 15.0), 300.0);
  ASSERT_GE(digest.chapters.size(), 2u);
  ASSERT_LE(digest.chapters.size(), 5u);
  double at = 0.0;
  bool at_the_turn = false;
  for (const Chapter& chapter : digest.chapters) {
    EXPECT_DOUBLE_EQ(chapter.start_s, at);
    EXPECT_GE(chapter.end_s - chapter.start_s, 10.0);
    EXPECT_FALSE(chapter.title.empty());
    EXPECT_EQ(chapter.title.find(chapter.start_s < 150.0 ? "car" : "dog"), std::string::npos) << chapter.title;
    at_the_turn = at_the_turn || chapter.start_s == 150.0;
    at = chapter.end_s;
  }
  EXPECT_DOUBLE_EQ(at, 300.0);
  EXPECT_TRUE(at_the_turn);
  // Ten hours of short shots: few chapters all the same.
  EXPECT_LE(DigestCaptions(Film(6000, 6.0), 36000.0).chapters.size(), 50u);
  EXPECT_EQ(DigestCaptions(Film(4, 1.0), 4.0).chapters.size(), 1u);
}

TEST(Timeline, RatesAreTheOnesPeopleMean) {
  const auto rate = [](double fps) {
    const FrameRate r = NominalRate(fps);
    return std::to_string(r.num) + "/" + std::to_string(r.den) + " " + std::to_string(r.timebase) +
           (r.drop ? " DF" : "");
  };
  EXPECT_EQ(rate(30000.0 / 1001.0), "1001/30000 30 DF");
  EXPECT_EQ(rate(29.97), "1001/30000 30 DF");
  EXPECT_EQ(rate(30.0), "1/30 30");
  EXPECT_EQ(rate(23.976), "1001/24000 24");
  EXPECT_EQ(rate(24.0), "1/24 24");
  EXPECT_EQ(rate(25.0), "1/25 25");
  EXPECT_EQ(rate(59.94), "1001/60000 60 DF");
  EXPECT_EQ(rate(60.0), "1/60 60");
  EXPECT_EQ(rate(12.5), "2/25 13");
  EXPECT_EQ(rate(10.0), "1/10 10");
  EXPECT_EQ(rate(0.0), "1/25 25");
}

// SMPTE 12M: frames 0 and 1 of each minute but the tenth do not exist.
TEST(Timeline, DropFrameKeepsPaceWithTheClock) {
  const FrameRate ntsc = NominalRate(29.97);
  EXPECT_EQ(Timecode(0, ntsc), "00:00:00;00");
  EXPECT_EQ(Timecode(1799, ntsc), "00:00:59;29");
  EXPECT_EQ(Timecode(1800, ntsc), "00:01:00;02");
  EXPECT_EQ(Timecode(17981, ntsc), "00:09:59;29");
  EXPECT_EQ(Timecode(17982, ntsc), "00:10:00;00");
  EXPECT_EQ(Timecode(107892, ntsc), "01:00:00;00");
  EXPECT_EQ(Timecode(10 * 107892 + 1800, ntsc), "10:01:00;02");
  const FrameRate fast = NominalRate(59.94);
  EXPECT_EQ(Timecode(3600, fast), "00:01:00;04");
  EXPECT_EQ(Timecode(215784, fast), "01:00:00;00");
  for (const FrameRate& rate : {ntsc, fast, NominalRate(25), NominalRate(23.976)}) {
    std::set<std::string> seen;
    for (int64_t frame = 0; frame < 40000; ++frame) {
      const std::string code = Timecode(frame, rate);
      ASSERT_TRUE(seen.insert(code).second) << code;
      ASSERT_EQ(ParseTimecode(code, rate), frame) << code;
    }
  }
  EXPECT_EQ(ParseTimecode("01:00:00:25", NominalRate(25)), -1);
  EXPECT_EQ(ParseTimecode("junk", ntsc), -1);
  EXPECT_EQ(ParseTimecode("", ntsc), -1);
}

TEST(Timeline, EdlEventsCarryTheFilesOwnTimecode) {
  TimelineMedia media{"/films/a | b.mov", 4.0, 25.0, 64, 48, true, "10:00:00:00"};
  const std::vector<Cue> cues = {{0.0, 1.96, "A man | rides"}, {1.96, 4.0, "Snow\nfalls"}};
  EXPECT_EQ(WriteEdl(cues, media),
            "TITLE: a / b\nFCM: NON-DROP FRAME\n"
            "\n001  AX       V     C        10:00:00:00 10:00:01:24 01:00:00:00 01:00:01:24\n"
            " |C:ResolveColorBlue |M:A man / rides |D:49\n"
            "* FROM CLIP NAME: a / b.mov\n* SOURCE FILE: /films/a / b.mov\n"
            "* LOC: 01:00:00:00 BLUE    A man / rides\n"
            "\n002  AX       V     C        10:00:01:24 10:00:04:00 01:00:01:24 01:00:04:00\n"
            " |C:ResolveColorBlue |M:Snow falls |D:51\n"
            "* FROM CLIP NAME: a / b.mov\n* SOURCE FILE: /films/a / b.mov\n"
            "* LOC: 01:00:01:24 BLUE    Snow falls\n");
  media.fps = 29.97;
  media.timecode = "";
  const std::vector<Cue> late = {{60.06, 61.0, "x"}};
  media.end_s = 70.0;
  const std::string drop = WriteEdl(late, media);
  EXPECT_NE(drop.find("FCM: DROP FRAME"), std::string::npos);
  EXPECT_NE(drop.find("00:01:00;02 "), std::string::npos) << drop;  // frame 1800
  media.timecode = "00:00:00:00";                                   // the file says that it does not drop
  EXPECT_NE(WriteEdl(late, media).find("FCM: NON-DROP FRAME"), std::string::npos);
}

// Whatever a film's rate: the timecode of a time is that time, and FCPXML's is the nearest frame's.
TEST(Timeline, EdlTimesAreThoseOfTheFilm) {
  const std::vector<Cue> cues = {{0.0, 10.0, "first"}, {9000.0, 10920.0, "last"}};
  for (const double fps : {0.1,  0.25,  0.9,  1.0,  1.4,   4.999,  7.5,   10.0,  12.5,  14.985, 23.5,
                           25.0, 29.85, 33.3, 54.2, 100.0, 119.88, 120.0, 143.9, 240.0, 1000.0}) {
    TimelineMedia media{"/f.mkv", 10920.0, fps, 64, 48, false, ""};
    const std::string edl = WriteEdl(cues, media);
    EXPECT_NE(edl.find(" 02:30:00:00 03:02:00:00 03:30:00:00 04:02:00:00\n"), std::string::npos) << fps << "\n" << edl;
    const std::vector<TimeSpan> moments = {{9000.0, 10920.0}};
    EXPECT_NE(WriteCutEdl(moments, media).find(" 02:30:00:00 03:02:00:00 00:00:00:00 00:32:00:00\n"), std::string::npos)
        << fps;
    media.timecode = "10:00:00:00";
    EXPECT_NE(WriteEdl(cues, media).find(" 12:30:00:00 13:02:00:00 "), std::string::npos) << fps;
    pugi::xml_document document;
    const std::string fcpxml = WriteFcpxml(cues, {}, media);
    ASSERT_TRUE(document.load_string(fcpxml.c_str())) << fps;
    const auto seconds = [&document](const char* path) {
      const std::string text = document.select_node(path).attribute().value();
      const size_t slash = text.find('/');
      return std::stod(text) / (slash == std::string::npos ? 1.0 : std::stod(text.substr(slash + 1)));
    };
    EXPECT_NEAR(seconds("//asset/@start"), 36000.0, 1.0 / fps) << fps;
    EXPECT_NEAR(seconds("//marker[2]/@start"), 45000.0, 1.0 / fps) << fps;
    EXPECT_NEAR(seconds("//marker[2]/@duration"), 1920.0, 1.0 / fps) << fps;
  }
}

TEST(Timeline, TimecodeIsThatOfADay) {
  const std::vector<Cue> cues = {{0.0, 3.0, "over midnight"}};
  TimelineMedia media{"/f.mov", 3.0, 25.0, 64, 48, false, "23:59:58:00"};
  EXPECT_NE(WriteEdl(cues, media).find(" 23:59:58:00 00:00:01:00 01:00:00:00 01:00:03:00\n"), std::string::npos);
  const FrameRate rate = NominalRate(25.0);
  EXPECT_EQ(Timecode(int64_t{25} * 86400, rate), "00:00:00:00");
  EXPECT_EQ(Timecode(int64_t{25} * 86400 * 3 + 26, rate), "00:00:01:01");
  for (const double fps : {29.97, 59.94}) {
    const FrameRate drop = NominalRate(fps);
    const int64_t day = int64_t{24} * 6 * (drop.timebase * 600 - 9 * drop.timebase / 15);
    EXPECT_EQ(Timecode(day, drop), "00:00:00;00");
    EXPECT_EQ(Timecode(day - 1, drop), "23:59:59;" + std::to_string(drop.timebase - 1));
    EXPECT_EQ(Timecode(day + drop.timebase, drop), "00:00:01;00");
  }
}

TEST(Timeline, FcpxmlTimesAreWholeFramesAndTheLinkIsAUrl) {
  const TimelineMedia media{"/films/a b&ü%.mp4", 10.01, 30000.0 / 1001.0, 1920, 1080, true, ""};
  const std::vector<Cue> cues = {{0.0, 5.005, "Tom & \"Jerry\" <1>"}, {5.005, 10.01, "bad\x01\xff end"}};
  const std::vector<Chapter> chapters = {{0.0, 10.01, "All"}};
  const std::string text = WriteFcpxml(cues, chapters, media);
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(text.c_str())) << text;
  const pugi::xml_node root = document.child("fcpxml");
  const pugi::xml_node resources = root.child("resources");
  EXPECT_STREQ(resources.child("format").attribute("frameDuration").value(), "1001/30000s");
  EXPECT_STREQ(resources.child("asset").attribute("src").value(), "file:///films/a%20b%26%C3%BC%25.mp4");
  EXPECT_STREQ(resources.child("asset").attribute("duration").value(), "1001/100s");  // 300 frames
  const pugi::xml_node sequence = root.child("library").child("event").child("project").child("sequence");
  EXPECT_STREQ(sequence.attribute("tcFormat").value(), "DF");
  const pugi::xml_node clip = sequence.child("spine").child("asset-clip");
  EXPECT_STREQ(clip.attribute("ref").value(), resources.child("asset").attribute("id").value());
  std::vector<std::string> starts;
  for (const pugi::xml_node marker : clip.children("marker")) starts.push_back(marker.attribute("start").value());
  EXPECT_EQ(starts, (std::vector<std::string>{"0s", "1001/200s"}));
  EXPECT_STREQ(clip.child("marker").attribute("value").value(), "Tom & \"Jerry\" <1>");
  EXPECT_STREQ(clip.child("chapter-marker").attribute("value").value(), "All");
  EXPECT_STREQ(clip.child("chapter-marker").attribute("posterOffset").value(), "0s");
}

TEST(CaptionFormats, EveryNameIsReadBack) {
  for (const CaptionFormat format : CaptionFormats()) {
    const auto parsed = ParseCaptionFormat(CaptionFormatName(format));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, format);
  }
  EXPECT_EQ(ParseCaptionFormat("doc").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(CaptionSuffix(CaptionFormat::kSrt), ".visual.en.srt");
  const std::vector<Cue> cues = {{0, 1.5, "He said \"hi\", then\nleft"}, {1.5, 2, "=1+1"}};
  EXPECT_EQ(WriteCaptions(CaptionFormat::kCsv, cues, {}, "a,\"b\".mp4"),
            "video,start,end,text\n"
            "\"a,\"\"b\"\".mp4\",0.000,1.500,\"He said \"\"hi\"\", then left\"\n"
            "\"a,\"\"b\"\".mp4\",1.500,2.000,\"=1+1\"\n");
  const TimelineMedia media{"/x.mp4", 2.0, 25.0, 8, 8, false, ""};
  EXPECT_TRUE(WriteCaptions(CaptionFormat::kChapters, cues, media, "x").starts_with("WEBVTT\n\n00:00:00.000 --> "));
  EXPECT_NE(WriteCaptions(CaptionFormat::kSummary, cues, media, "x").find("\"chapters\": ["), std::string::npos);
}

// What FFmpeg reads in a subtitle file: "start end" in seconds of each cue.
std::vector<std::pair<double, double>> ReadBack(const std::filesystem::path& file) {
  const test::RunOutcome probe = test::RunProcess(
      {"ffprobe", "-v", "error", "-show_entries", "packet=pts_time,duration_time", "-of", "csv=p=0", file.string()});
  EXPECT_EQ(probe.exit_code, 0) << probe.err;
  EXPECT_EQ(probe.err, "");
  std::vector<std::pair<double, double>> spans;
  std::istringstream lines(probe.out);
  for (std::string line; std::getline(lines, line);) {
    const size_t comma = line.find(',');
    const double start = std::stod(line.substr(0, comma));
    spans.emplace_back(start, start + std::stod(line.substr(comma + 1)));
  }
  return spans;
}

// Hours that roll over, cues that overlap, say nothing, or hold what the formats use themselves: as FFmpeg reads it.
TEST(CaptionFormats, PlayersReadWhatWasMeant) {
  const std::vector<Cue> cues = {{3599.2, 3600.5, "Before & after <i>the</i> hour"},
                                 {3600.2, 3602.0, "--> arrow\n\n12"},
                                 {3602.0, 3603.0, " \u200b\t"},
                                 {3603.0, 3603.0, "No length"},
                                 {35999.9996, 36001.0, "WEBVTT"},
                                 {360000.0, 360001.5, "{\\an8} a hundred hours"}};
  const std::vector<std::pair<double, double>> wanted = {
      {3599.2, 3600.2}, {3600.2, 3602.0}, {3603.0, 3604.0}, {36000.0, 36001.0}, {360000.0, 360001.5}};
  const TempFolder folder;
  for (const CaptionFormat format : {CaptionFormat::kSrt, CaptionFormat::kVtt}) {
    const std::string name = "cues." + std::string(CaptionFormatName(format));
    const auto spans = ReadBack(folder.Write(name, WriteCaptions(format, cues, {}, "x")));
    ASSERT_EQ(spans.size(), wanted.size()) << name;
    for (size_t i = 0; i < spans.size(); ++i) {
      EXPECT_NEAR(spans[i].first, wanted[i].first, 0.0011) << name << " " << i;
      EXPECT_NEAR(spans[i].second, wanted[i].second, 0.0021) << name << " " << i;
      if (i > 0) {
        EXPECT_LE(spans[i - 1].second, spans[i].first + 1e-6) << name << " " << i;
      }
    }
    const test::RunOutcome text =
        test::RunProcess({"ffmpeg", "-v", "error", "-i", (folder / name).string(), "-f", "srt", "-"});
    EXPECT_NE(text.out.find("Before & after"), std::string::npos) << text.out;
    EXPECT_NE(text.out.find("a hundred hours"), std::string::npos) << text.out;
  }
}

// The items of dc:description, as "language=text", in order.
std::vector<std::string> Items(const std::string& sidecar) {
  pugi::xml_document document;
  EXPECT_TRUE(document.load_string(sidecar.c_str())) << sidecar;
  std::vector<std::string> items;
  for (const pugi::xpath_node found : document.select_nodes("//*[local-name()='description']/*/*")) {
    items.push_back(std::string(found.node().attribute("xml:lang").value()) + "=" + found.node().child_value());
  }
  return items;
}

constexpr char kHead[] =
    "<?xpacket begin=\"\xEF\xBB\xBF\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?>\n<x:xmpmeta xmlns:x=\"adobe:ns:meta/\">\n"
    " <rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">\n"
    "  <rdf:Description rdf:about=\"\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\" "
    "xmlns:xmp=\"http://ns.adobe.com/xap/1.0/\" xmp:Rating=\"4\">\n   <!-- mine -->\n";
constexpr char kTail[] =
    "   <dc:subject><rdf:Bag><rdf:li>holiday &amp; sea</rdf:li></rdf:Bag></dc:subject>\n"
    "  </rdf:Description>\n </rdf:RDF>\n</x:xmpmeta>\n<?xpacket end=\"w\"?>\n";

std::string Sidecar(const std::string& description) { return kHead + description + kTail; }

TEST(Xmp, ANewSidecarHoldsTheSummaryInBothPlaces) {
  const auto made = MergeXmp("", {"A dog & a <cat>.", "s1", "i1"});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(Items(*made), (std::vector<std::string>{"x-default=A dog & a <cat>.", "en=A dog & a <cat>."}));
  EXPECT_EQ(*AssessXmp(*made, "s1", "i1"), XmpState::kFinished);
  EXPECT_EQ(*AssessXmp(*made, "s2", "i1"), XmpState::kOutdated);
  EXPECT_EQ(*AssessXmp(*made, "s1", "i2"), XmpState::kOutdated);
  EXPECT_EQ(*MergeXmp(*made, {"A dog & a <cat>.", "s1", "i1"}), *made);
  const auto again = MergeXmp(*made, {"Other.", "s2", "i1"});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(Items(*again), (std::vector<std::string>{"x-default=Other.", "en=Other."}));
}

TEST(Xmp, NothingOfOthersIsLost) {
  const std::string mine = Sidecar("");
  const auto merged = MergeXmp(mine, {"New.", "s", "i"});
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  for (const char* part : {"<?xpacket begin=\"\xEF\xBB\xBF\"", "xmp:Rating=\"4\"", "<!-- mine -->", "holiday &amp; sea",
                           "<?xpacket end=\"w\"?>"}) {
    EXPECT_NE(merged->find(part), std::string::npos) << part << "\n" << *merged;
  }
  // What was there is there still, in its order: taking the new parts out gives the old text.
  std::string rest = *merged;
  const size_t from = rest.find("<dc:description>");
  const std::string end = "</dc:description>";
  ASSERT_NE(from, std::string::npos);
  rest.erase(from, rest.find(end) + end.size() - from);
  const size_t own = rest.find(" xmlns:longview=");
  ASSERT_NE(own, std::string::npos);
  rest.erase(own, rest.find('>', own) - own);
  EXPECT_EQ(rest, mine);
}

TEST(Xmp, DescriptionsByPeopleStay) {
  const std::string others = Sidecar(
      "<dc:description><rdf:Alt><rdf:li xml:lang=\"x-default\">Meer</rdf:li>"
      "<rdf:li xml:lang=\"de\">Meer</rdf:li></rdf:Alt></dc:description>\n");
  const auto beside = MergeXmp(others, {"Sea.", "s", "i"});
  ASSERT_TRUE(beside.ok());
  EXPECT_EQ(Items(*beside), (std::vector<std::string>{"x-default=Meer", "de=Meer", "en=Sea."}));
  EXPECT_EQ(Items(*MergeXmp(*beside, {"Ocean.", "s2", "i"})),
            (std::vector<std::string>{"x-default=Meer", "de=Meer", "en=Ocean."}));

  const std::string english =
      Sidecar("<dc:description><rdf:Alt><rdf:li xml:lang=\"EN\">My sea</rdf:li></rdf:Alt></dc:description>\n");
  EXPECT_EQ(*AssessXmp(english, "s", "i"), XmpState::kNone);
  EXPECT_EQ(Items(*MergeXmp(english, {"Sea.", "s", "i"})),
            (std::vector<std::string>{"EN=My sea", "en-x-longview=Sea."}));
  EXPECT_EQ(Items(*MergeXmp(Sidecar("<dc:description>Plain &lt;text&gt;</dc:description>\n"), {"Sea.", "s", "i"})),
            (std::vector<std::string>{"x-default=Plain <text>", "en=Sea."}));

  // Changed by hand after Longview wrote it: theirs now.
  std::string edited = *MergeXmp("", {"Sea.", "s", "i"});
  for (size_t at = edited.find("Sea."); at != std::string::npos; at = edited.find("Sea.", at))
    edited.replace(at, 4, "My");
  EXPECT_EQ(*AssessXmp(edited, "s", "i"), XmpState::kEdited);
  EXPECT_EQ(Items(*MergeXmp(edited, {"Sea.", "s", "i"})),
            (std::vector<std::string>{"x-default=My", "en=My", "en-x-longview=Sea."}));
}

TEST(Xmp, PrefixesAreTheWritersChoiceAndOddFilesAreRefused) {
  const std::string other =
      "<R:RDF xmlns:R=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"><R:Description "
      "xmlns:q=\"http://purl.org/dc/elements/1.1/\"><q:description><R:Alt><R:li "
      "xml:lang=\"x-default\">Mine</R:li></R:Alt>"
      "</q:description></R:Description></R:RDF>";
  const auto merged = MergeXmp(other, {"Sea.", "s", "i"});
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(Items(*merged), (std::vector<std::string>{"x-default=Mine", "en=Sea."}));
  EXPECT_EQ(merged->find("dc:"), std::string::npos);
  EXPECT_EQ(MergeXmp("not xml", {"S", "s", "i"}).status().code(), StatusCode::kDamaged);
  EXPECT_EQ(MergeXmp("<a><b></a>", {"S", "s", "i"}).status().code(), StatusCode::kDamaged);
  std::string undeclared = Sidecar("<dc:description>Mine</dc:description>");
  undeclared.replace(undeclared.find("xmlns:dc"), 8, "xmlns:cd");
  EXPECT_EQ(MergeXmp(undeclared, {"S", "s", "i"}).status().code(), StatusCode::kDamaged);
  // A prefix that no element's name may begin with would be taken for our own element's.
  for (const char* prefix : {"-dc", ".dc", "1dc"}) {
    std::string odd = Sidecar("");
    odd.replace(odd.find("xmlns:dc"), 8, std::string("xmlns:") + prefix);
    EXPECT_EQ(MergeXmp(odd, {"S", "s", "i"}).status().code(), StatusCode::kDamaged) << prefix;
  }
  EXPECT_EQ(MergeXmp("<a/>", {"S", "s", "i"}).status().code(), StatusCode::kDamaged);
  EXPECT_EQ(MergeXmp("<!DOCTYPE a [<!ENTITY b 'c'>]>" + other, {"S", "s", "i"}).status().code(),
            StatusCode::kUnsupported);
  EXPECT_EQ(MergeXmp(Sidecar("<dc:description><rdf:Bag/></dc:description>"), {"S", "s", "i"}).status().code(),
            StatusCode::kUnsupported);
}

std::string Declared(const std::string& encoding, const std::string& text) {
  return "<?xml version=\"1.0\" encoding=\"" + encoding + "\"?>\n" +
         Sidecar("<dc:description><rdf:Alt><rdf:li xml:lang=\"de\">" + text + "</rdf:li></rdf:Alt></dc:description>\n");
}

std::string Utf16(const std::u16string& text, bool big_endian) {
  std::string bytes;
  for (const char16_t unit : text) {
    const char high = static_cast<char>(unit >> 8), low = static_cast<char>(unit & 0xFF);
    bytes += big_endian ? high : low;
    bytes += big_endian ? low : high;
  }
  return bytes;
}

// What Longview cannot read it must not write: the owner's letters would be lost.
TEST(Xmp, EncodingsAreReadOrLeftAlone) {
  const XmpNote note{"Sea.", "s", "i"};
  for (const char* encoding : {"windows-1252", "ISO-8859-15", "KOI8-R", "Shift_JIS", "UTF-16", "UTF-32"}) {
    const Status refused = MergeXmp(Declared(encoding, "M\xE4rz"), note).status();
    EXPECT_EQ(refused.code(), StatusCode::kUnsupported) << encoding;
    EXPECT_NE(refused.message().find(encoding), std::string::npos) << refused.message();
    EXPECT_NE(refused.message().find("UTF-8"), std::string::npos) << refused.message();
    EXPECT_EQ(AssessXmp(Declared(encoding, "x"), "s", "i").status().code(), StatusCode::kUnsupported) << encoding;
  }
  const std::string plain = Sidecar("<dc:description>M\xE4rz</dc:description>\n");
  for (const std::string& bytes : {plain, Declared("UTF-8", "M\xE4rz"), Declared("US-ASCII", "M\xE4rz"),
                                   Declared("utf-8", std::string("nul\0", 4)), Declared("utf-8", "\xED\xA0\x80")}) {
    EXPECT_EQ(MergeXmp(bytes, note).status().code(), StatusCode::kDamaged) << bytes;
  }
  for (const char* encoding : {"ISO-8859-1", "iso-8859-1", "latin1"}) {
    const auto merged = MergeXmp(Declared(encoding, "M\xE4rz"), note);
    ASSERT_TRUE(merged.ok()) << merged.status().message();
    EXPECT_EQ(Items(*merged), (std::vector<std::string>{"de=M\u00e4rz", "en=Sea."}));
    EXPECT_NE(merged->find("encoding=\"UTF-8\""), std::string::npos) << *merged;
  }
  EXPECT_EQ(Items(*MergeXmp("\xEF\xBB\xBF" + Declared("utf-8", "M\u00e4rz"), note))[0], "de=M\u00e4rz");
}

TEST(Xmp, Utf16IsReadWholeOrLeftAlone) {
  const XmpNote note{"Sea.", "s", "i"};
  const auto document = [](const std::u16string& text) {
    return u"<R:RDF xmlns:R=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"><R:Description "
           u"xmlns:dc=\"http://purl.org/dc/elements/1.1/\"><dc:description><R:Alt><R:li xml:lang=\"de\">" +
           text + u"</R:li></R:Alt></dc:description></R:Description></R:RDF>";
  };
  for (const bool big_endian : {false, true}) {
    for (const char16_t* mark : {u"", u"\uFEFF"}) {
      const auto merged = MergeXmp(Utf16(mark + document(u"M\u00e4rz \U0001F3AC"), big_endian), note);
      ASSERT_TRUE(merged.ok()) << merged.status().message();
      EXPECT_EQ(Items(*merged), (std::vector<std::string>{"de=M\u00e4rz \U0001F3AC", "en=Sea."}));
    }
    const std::u16string lone(1, char16_t{0xD83D});
    EXPECT_EQ(MergeXmp(Utf16(u"\uFEFF" + document(lone + u"x"), big_endian), note).status().code(),
              StatusCode::kDamaged);
    EXPECT_EQ(MergeXmp(Utf16(u"\uFEFF" + document(u"x"), big_endian) + "\n", note).status().code(),
              StatusCode::kDamaged);
  }
}

// A character that its owner wrote by a reference is the same one after any number of rewritings.
TEST(Xmp, ReferencesKeepTheirCharacters) {
  std::string text = Declared("UTF-8", "a&#13;&#10;b&#xd;c&#9;&#x1F3AC;");
  text.replace(text.find("xmp:Rating=\"4\""), 14, "xmp:Rating=\"4&#13;&#10;&#9;5\"");
  for (const char* summary : {"One.", "Two.", "Three."}) {
    auto merged = MergeXmp(text, {summary, summary, "i"});
    ASSERT_TRUE(merged.ok()) << merged.status().message();
    text = std::move(merged).value();
    EXPECT_EQ(Items(text)[0], "de=a\r\nb\rc\t\U0001F3AC");
    EXPECT_EQ(text.find('\r'), std::string::npos);
    pugi::xml_document document;
    ASSERT_TRUE(document.load_string(text.c_str()));
    EXPECT_STREQ(document.select_node("//@xmp:Rating").attribute().value(), "4\r\n\t5") << text;
  }
  EXPECT_EQ(*AssessXmp(*MergeXmp("", {"a\rb", "s", "i"}), "s", "i"), XmpState::kFinished);
  for (const char* reference : {"&#0;", "&#xD83D;&#xDE00;", "&#x110000;", "&#99999999999;", "&#1;", "&#;"}) {
    EXPECT_EQ(MergeXmp(Declared("UTF-8", reference), {"S", "s", "i"}).status().code(), StatusCode::kDamaged)
        << reference;
  }
}

}  // namespace
}  // namespace longview
