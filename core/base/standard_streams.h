// The three descriptors that every program takes for granted.
#ifndef LONGVIEW_CORE_BASE_STANDARD_STREAMS_H_
#define LONGVIEW_CORE_BASE_STANDARD_STREAMS_H_

namespace longview {

// Puts /dev/null where standard input, output or error is closed, so that no file or pipe opened later gets the number
// of one of them and with it what is meant for a person. To be called before anything is opened. Writing to an output
// that was closed still fails, as it should; standard error takes what it is told, and input is at its end.
void OpenStandardStreams();

}  // namespace longview

#endif  // LONGVIEW_CORE_BASE_STANDARD_STREAMS_H_
