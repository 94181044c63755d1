#!/usr/bin/env bash
# Small inputs for the cases in cases.md. Usage: make_cases.sh FOLDER
# Needs ffmpeg (libx264, libx265, libvpx, libwebp), ffprobe, python3 (standard library only). Writes the inputs and expected.tsv,
# then checks each "probe:" row. Case numbers follow "#@".
set -euo pipefail
export LC_ALL=C.UTF-8
OUT=${1:?usage: $0 OUTPUT_FOLDER}
mkdir -p "$OUT"; OUT=$(cd "$OUT" && pwd); cd "$OUT"
for t in ffmpeg ffprobe python3; do command -v $t >/dev/null || { echo "missing: $t" >&2; exit 2; }; done
TMP=$(mktemp -d); trap 'rm -rf "$TMP"' EXIT
: > expected.tsv

# x FILE PROPERTY VALUE : one row of expected.tsv. "probe:" rows describe the input and are checked at the end of this script;
# "app:" rows say what the program under test must report or do with that input.
x()  { printf '%s\t%s\t%s\n' "$1" "$2" "$3" >> expected.tsv; }
ff() { ffmpeg -hide_banner -nostdin -v error -y "$@"; }
X264="-c:v libx264 -preset veryfast -crf 20 -threads 1"

# pat SIZE RATE DUR [BITS [PRE [SECOND_OFFSET]]] : a lavfi source whose frames tell who they are.
#  top half: the frame number as BITS blocks (default 8), bit 0 leftmost, white = 1;
#  bottom half: the colour of the second: 0 red, 1 green, 2 blue, 3 yellow, 4 cyan, 5 magenta, then again from red.
pat() { _geq "$1" "$2" "$3" "${4:-8}" "${5:-null}" "${6:-0}" N; }
# patsec: the same, but the blocks hold the second instead of the frame number
patsec() { _geq "$1" "$2" "$3" "${4:-8}" "${5:-null}" "${6:-0}" 'floor(T+0.0001)'; }
# Both halves are constant from top to bottom, so two rows are computed and each is repeated: the same pictures, 10 times sooner.
_geq() { local k="255*mod(floor($7/pow(2,floor(X*$4/W))),2)" s="mod(floor(T+0.0001)+$6,6)"
  echo "nullsrc=s=${1%x*}x2:r=$2:d=$3,$5,format=gbrp,geq=r='if(lt(Y,1),$k,255*(eq($s,0)+eq($s,3)+eq($s,5)))':g='if(lt(Y,1),$k,255*(eq($s,1)+eq($s,3)+eq($s,4)))':b='if(lt(Y,1),$k,255*(eq($s,2)+eq($s,4)+eq($s,5)))',scale=${1%x*}:${1#*x}:flags=neighbor,setsar=1,format=gbrp,format=yuv420p"; }
# quad SIZE DUR : upper left red, upper right green, lower left blue, lower right white
quad() { echo "color=black:s=$1:r=10:d=$2,format=gbrp,geq=r='255*(lt(X,W/2)*lt(Y,H/2)+gte(X,W/2)*gte(Y,H/2))':g='255*gte(X,W/2)':b='255*gte(Y,H/2)'"; }
# yuvpat SIZE PIXFMT Y0 Y1 Y2 Y3 : four vertical grey stripes with exactly these luma codes, neutral chroma
yuvpat() { local mid=128; case $2 in *10le) mid=512;; esac
  echo "color=black:s=$1:r=10:d=1,format=$2,geq=lum='if(lt(X,W/4),$3,if(lt(X,W/2),$4,if(lt(X,3*W/4),$5,$6)))':cb=$mid:cr=$mid"; }

# setmatrix FILE a b c d : writes the 2x2 part of the display matrix into every tkhd box of an MP4/MOV
setmatrix() { python3 - "$@" <<'PY'
import struct,sys
f,a,b,c,d=sys.argv[1],*map(int,sys.argv[2:6]); z=bytearray(open(f,'rb').read()); i=0; n=0
while True:
    i=z.find(b'tkhd',i)
    if i<0: break
    o=i+4+(40 if z[i+4]==0 else 52)                       # version 0 or 1 header
    w,h=struct.unpack('>II',z[o+36:o+44])                  # 16.16
    if w and h:
        tx=(w if a<0 else 0)+(h if c<0 else 0); ty=(w if b<0 else 0)+(h if d<0 else 0)
        z[o:o+36]=struct.pack('>9i',a<<16,b<<16,0,c<<16,d<<16,0,tx,ty,1<<30); n+=1
    i+=4
assert n; open(f,'wb').write(z)
PY
}

#@ 1
ff -f lavfi -i "$(pat 128x96 30 1.13 8 "settb=1/1000,setpts='round(if(lt(N,30),N/30,1+(N-30))/TB)'")" $X264 -bf 0 -g 30 -enc_time_base 1:1000 -fps_mode passthrough vfr_burst.mp4
x vfr_burst.mp4 probe:packets 34
x vfr_burst.mp4 probe:pts "15=0.500 29=0.967 30=1.000 31=2.000 33=4.000"
x vfr_burst.mp4 probe:duration:v0 4.033
x vfr_burst.mp4 app:duration_s "4.03 (5.0 also right: how long the last picture stays is not stored)"
x vfr_burst.mp4 app:frame_index@0.50 15
x vfr_burst.mp4 app:frame_index@1.50 30
x vfr_burst.mp4 app:frame_index@3.50 "32 (index = t x average rate gives 29)"
x vfr_burst.mp4 app:colour@3.50 "yellow"

#@ 2
ff -f lavfi -i "$(pat 128x96 25 4)" $X264 -g 50 -bf 3 -x264-params b-adapt=0:scenecut=0 bframes.mp4
x bframes.mp4 probe:packets 100
x bframes.mp4 probe:has_b_frames 2
x bframes.mp4 app:reported_times "0.00 0.04 0.08 ... strictly rising by 0.04, in the order of the frames shown"
x bframes.mp4 app:frame_index@1.00 25
x bframes.mp4 app:frame_index@2.50 62

#@ 3
ff -f lavfi -i "$(pat 128x96 25 4)" $X264 -g 25 -muxdelay 0 -muxpreload 0 -output_ts_offset 95.5 start_offset.ts
x start_offset.ts probe:start_time:v0 95.5
x start_offset.ts probe:packets 100
x start_offset.ts app:duration_s 4.0
x start_offset.ts app:first_time_s "0.0 (not 95.5)"
x start_offset.ts app:frame_index@0.50 12
x start_offset.ts app:first_cue "00:00:00,000"

#@ 4
ff -f lavfi -i "$(pat 128x96 25 6)" $X264 -bf 0 -g 50 -keyint_min 50 -sc_threshold 0 "$TMP/e.mp4"
ff -ss 2.6 -i "$TMP/e.mp4" -c copy editlist_trim.mp4
x editlist_trim.mp4 probe:packets_noedit 100
x editlist_trim.mp4 probe:frames 85
x editlist_trim.mp4 app:duration_s 3.4
x editlist_trim.mp4 app:frame_index@0.00 "65 (50 = the edit list was ignored)"
x editlist_trim.mp4 app:frame_index@1.40 100
x editlist_trim.mp4 app:colour@0.00 blue

#@ 5
ff -f lavfi -i "$(pat 128x96 25 4)" -c:v libvpx -b:v 150k -deadline realtime -cpu-used 8 -g 50 -f webm - > live_noduration.webm
x live_noduration.webm probe:format_duration N/A
x live_noduration.webm probe:duration:v0 N/A
x live_noduration.webm probe:packets 100
x live_noduration.webm app:duration_s "4.0 (found by reading, not 0, not 'live')"
x live_noduration.webm app:frame_index@3.20 80
x live_noduration.webm app:progress "ends at 100 %, no division by zero"

#@ 6
ff -f lavfi -i "$(pat 128x96 25 3)" $X264 -g 25 -bf 2 last_frame.mp4
ff -f lavfi -i "$(pat 128x96 25 3)" -f lavfi -i "sine=f=440:d=8" $X264 -g 25 -c:a aac -b:a 24k audio_longer.mkv
x last_frame.mp4 probe:packets 75
x last_frame.mp4 probe:duration:v0 3.0
x last_frame.mp4 app:frame_index@2.96 74
x last_frame.mp4 app:frame_index@2.999 74
x last_frame.mp4 app:request@3.00 "frame 74 or a clean 'past the end'; no error, no wait for more"
x audio_longer.mkv probe:packets 75
x audio_longer.mkv probe:format_duration 8.0
x audio_longer.mkv app:video_duration_s 3.0
x audio_longer.mkv app:last_cue_end_s "<= 3.05 (nothing is captioned where there is only sound)"
x audio_longer.mkv app:request@5.00 "a clean 'no picture there', not frame 74 presented as 5.0 s"

#@ 7
ff -f lavfi -i "$(pat 128x96 10 20)" $X264 -g 9999 -keyint_min 9999 -sc_threshold 0 long_gop.mp4
x long_gop.mp4 probe:keyframes 1
x long_gop.mp4 probe:packets 200
x long_gop.mp4 app:frame_index@13.70 "137 (0 = only keyframes were looked at)"
x long_gop.mp4 app:frame_index@19.90 199
x long_gop.mp4 app:frame_index@0.30_after_13.70 "3 (seek back)"
x long_gop.mp4 app:colour@13.70 green

#@ 8
ff -f lavfi -i "$(pat 128x96 25 2)" $X264 -g 25 -bf 2 -f h264 raw_nopts.h264
ff -f lavfi -i "$(pat 128x96 25 2)" -c:v mpeg4 -q:v 4 -bf 2 -g 25 -threads 1 nopts_bframes.avi
x raw_nopts.h264 probe:pts "1=N/A 10=N/A"
x raw_nopts.h264 probe:duration:v0 N/A
x raw_nopts.h264 app:duration_s 2.0
x raw_nopts.h264 app:frame_index@1.00 25
x raw_nopts.h264 app:reported_times "rise by 0.04 s; none missing, none 0 twice"
x nopts_bframes.avi probe:pts "1=N/A"
x nopts_bframes.avi app:duration_s 2.0
x nopts_bframes.avi app:frame_index@1.00 "25 (+-1 accepted: AVI stores no presentation times)"
x nopts_bframes.avi app:reported_times "strictly rising"

#@ 9
ff -f lavfi -i "$(pat 128x96 25 2)" $X264 -bf 0 -g 25 -muxdelay 0 -muxpreload 0 "$TMP/a.ts"
ff -f lavfi -i "$(pat 128x96 25 2 8 null 2)" $X264 -bf 0 -g 25 -muxdelay 0 -muxpreload 0 "$TMP/b.ts"
cat "$TMP/a.ts" "$TMP/b.ts" > backwards.ts
x backwards.ts probe:packets 100
x backwards.ts probe:pts_backwards yes
x backwards.ts app:colours_seen "red green blue yellow (the second half is not lost)"
x backwards.ts app:cues "start never falls, end > start, no cue before 0, run ends"
x backwards.ts app:duration_s "4.0 preferred"

#@ 10
ff -f lavfi -i "$(pat 128x96 25 0.04)" $X264 one_frame.mp4
ff -f lavfi -i "$(pat 128x96 25 0.2)" $X264 five_frames.mp4
x one_frame.mp4 probe:packets 1
x five_frames.mp4 probe:packets 5
x one_frame.mp4 app:cues "exactly one, 00:00:00,000 to a later time"
x one_frame.mp4 app:exit 0
x five_frames.mp4 app:exit "0 also when more frames are asked for than there are (5 or fewer distinct frames used)"
x five_frames.mp4 app:last_cue_end_s "<= 0.24"

#@ 11
ff -f lavfi -i "$(patsec 160x96 10 600 10)" $X264 -crf 30 -g 600 -bf 0 many_frames.mkv
x many_frames.mkv probe:packets 6000
x many_frames.mkv probe:format_duration 600
x many_frames.mkv app:sampled_times "for every frame the model sees: floor(reported time) = number in its blocks, also with a cap of 8, 16, 128 frames"
x many_frames.mkv app:coverage_with_cap_16 "first sample <= 40 s, last sample >= 560 s"

#@ 12
ff -f lavfi -i "$(quad 96x160 1),transpose=cclock,format=yuv420p" $X264 rot90.mp4; setmatrix rot90.mp4 0 1 -1 0
ff -f lavfi -i "$(quad 96x160 1),transpose=cclock,format=yuvj420p" -frames:v 1 -q:v 2 "$TMP/q.jpg"
python3 - "$TMP/q.jpg" exif6.jpg <<'PY'
import struct,sys
z=open(sys.argv[1],'rb').read(); t=b'MM\0*\0\0\0\x08'+struct.pack('>H',1)+struct.pack('>HHIHH',0x112,3,1,6,0)+b'\0\0\0\0'
open(sys.argv[2],'wb').write(z[:2]+b'\xff\xe1'+struct.pack('>H',8+len(t))+b'Exif\0\0'+t+z[2:])
PY
x rot90.mp4 probe:size 160x96
x rot90.mp4 probe:rotation -90
x rot90.mp4 app:display_size 96x160
x rot90.mp4 app:corners "upper left red, upper right green, lower left blue, lower right white"
x exif6.jpg probe:frame_rotation -90
x exif6.jpg app:display_size 96x160
x exif6.jpg app:corners "upper left red, upper right green, lower left blue, lower right white"

#@ 13
ff -f lavfi -i "color=black:s=180x144:r=10:d=1,drawbox=x=60:y=40:w=45:h=64:color=white:t=fill,setsar=64/45,format=yuv420p" $X264 sar.mp4
x sar.mp4 probe:size 180x144
x sar.mp4 probe:sar 64:45
x sar.mp4 app:display_size 256x144
x sar.mp4 app:white_box "as wide as high (ratio 1.00 +-0.05; 0.70 = pixels taken as square)"

#@ 14
ff -f lavfi -i "color=gray:s=131x97:r=10:d=1,drawbox=x=128:y=0:w=3:h=97:color=red:t=fill,format=yuv444p" -c:v libvpx-vp9 -crf 20 -b:v 0 -threads 1 odd_131x97.webm
ff -f lavfi -i "color=gray:s=94x62:r=10:d=1,drawbox=x=92:y=0:w=2:h=62:color=red:t=fill,format=yuv420p" $X264 crop_94x62.mp4
x odd_131x97.webm probe:size 131x97
x odd_131x97.webm app:display_size 131x97
x odd_131x97.webm app:last_column "red over the whole height, same in every frame; column 100 grey"
x crop_94x62.mp4 probe:size 94x62
x crop_94x62.mp4 app:display_size 94x62
x crop_94x62.mp4 app:last_column "red over the whole height; no noise, no green"

#@ 15
ff -f lavfi -i "$(pat 160x96 25 2)" $X264 -bf 0 -g 25 -muxdelay 0 -muxpreload 0 "$TMP/a.ts"
ff -f lavfi -i "$(pat 96x160 25 2 8 null 2)" $X264 -bf 0 -g 25 -muxdelay 0 -muxpreload 0 -output_ts_offset 2 "$TMP/b.ts"
cat "$TMP/a.ts" "$TMP/b.ts" > res_change.ts
x res_change.ts probe:frame_sizes "160x96 96x160"
x res_change.ts probe:packets 100
x res_change.ts app:frame_index@1.00 25
x res_change.ts app:frame_index@3.00 "25, from a 96x160 picture, not squeezed into 160x96"
x res_change.ts app:colour@3.00 yellow
x res_change.ts app:exit 0

#@ 16
python3 - bomb_16000.png <<'PY'
import struct,sys,zlib
def ch(t,d): return struct.pack('>I',len(d))+t+d+struct.pack('>I',zlib.crc32(t+d))
w=h=16000; c=zlib.compressobj(9); row=b'\0'+b'\0'*(w//8); z=b''.join(c.compress(row) for _ in range(h))+c.flush()
open(sys.argv[1],'wb').write(b'\x89PNG\r\n\x1a\n'+ch(b'IHDR',struct.pack('>IIBBBBB',w,h,1,0,0,0,0))+ch(b'IDAT',z)+ch(b'IEND',b''))
z=open(sys.argv[1],'rb').read(); open('bomb_header.png','wb').write(z[:16]+struct.pack('>II',65500,65500)+z[24:29]+struct.pack('>I',zlib.crc32(b'IHDR'+struct.pack('>II',65500,65500)+z[24:29]))+z[33:2000])
PY
ff -f lavfi -i "color=0x205080:s=8192x4320:r=2:d=1,format=yuv420p" -c:v libx264 -preset ultrafast -x264-params rc-lookahead=0:threads=1:ref=1:cabac=1 -crf 35 big_8192.mp4
x bomb_16000.png probe:size 16000x16000
x bomb_16000.png app:result "used at reduced size, or refused with a message that names the size; peak RSS < 1 GiB; no abort"
x bomb_header.png app:result "refused with a message; RSS does not follow the 65500x65500 in the header"
x big_8192.mp4 probe:size 8192x4320
x big_8192.mp4 app:result "captioned or refused with a message; peak RSS < 1 GiB (frame threads multiply 53 MB a frame)"

#@ 17
ff -f lavfi -i "color=red:s=2x2:r=10:d=1,format=yuv444p" -c:v ffv1 tiny_2x2.mkv
ff -f lavfi -i "color=red:s=1x1:r=1:d=1,format=rgb24" -frames:v 1 one_pixel.png
ff -f lavfi -i "color=red:s=3000x4:r=10:d=1,format=yuv444p" -c:v ffv1 strip_3000x4.mkv
x tiny_2x2.mkv probe:size 2x2
x one_pixel.png probe:size 1x1
x strip_3000x4.mkv probe:size 3000x4
x tiny_2x2.mkv app:result "a caption, or a refusal that names the size; no assertion, no scaling to height 0"
x one_pixel.png app:result "as above"
x strip_3000x4.mkv app:result "as above"

#@ 18
ff -f lavfi -i "$(yuvpat 128x64 yuv420p 0 64 128 255)" $X264 -crf 1 -color_range pc -bsf:v h264_metadata=video_full_range_flag=1 range_full8.mp4
ff -f lavfi -i "color=black:s=128x64:r=10:d=1,format=gbrp,geq=r='if(lt(X,W/4),255,if(lt(X,W/2),0,if(lt(X,3*W/4),0,200)))':g='if(lt(X,W/4),0,if(lt(X,W/2),255,if(lt(X,3*W/4),0,100)))':b='if(lt(X,W/2),0,if(lt(X,3*W/4),255,50))',scale=out_color_matrix=bt709:out_range=tv,format=yuv420p" $X264 -crf 6 -colorspace bt709 -color_primaries bt709 -color_trc bt709 -color_range tv bt709_sd.mp4
x range_full8.mp4 probe:color_range pc
x range_full8.mp4 app:grey_of_stripes "0 64 128 255 +-3 (0 56 130 255 = read as limited range)"
x bt709_sd.mp4 probe:color_space bt709
x bt709_sd.mp4 app:rgb_of_stripes "255,0,0 0,255,0 0,0,255 200,100,50 each +-8"

#@ 19
ff -f lavfi -i "$(yuvpat 128x64 yuv420p10le 64 283 502 940)" $X264 -crf 1 -colorspace bt709 -color_primaries bt709 -color_trc bt709 -color_range tv tenbit.mp4
x tenbit.mp4 probe:pix_fmt yuv420p10le
x tenbit.mp4 app:grey_of_stripes "0 64 128 255 +-3"

#@ 20
python3 - "$TMP/pq.yuv" <<'PY'
import sys,array
# stripes, in cd/m2: black; 203 grey (reference white); 1000 grey; BT.709 red at 203 inside BT.2020
def pq(l): m1,m2,c1,c2,c3=2610/16384,2523/4096*128,3424/4096,2413/4096*32,2392/4096*32; y=(l/10000)**m1; return ((c1+c2*y)/(1+c3*y))**m2
def yuv(r,g,b):
    R,G,B=map(pq,(r,g,b)); Y=.2627*R+.678*G+.0593*B
    return round(64+876*Y),round(512+896*(B-Y)/1.8814),round(512+896*(R-Y)/1.4746)
P=[yuv(0,0,0),yuv(203,203,203),yuv(1000,1000,1000),yuv(*(203*k for k in(.6274,.0691,.0164)))]
w,h=128,64; o=array.array('H')
for c,(ww,hh) in enumerate(((w,h),(w//2,h//2),(w//2,h//2))):
    for _ in range(hh):
        for p in P: o.extend([p[c]]*(ww//4))
open(sys.argv[1],'wb').write(o.tobytes()*10)
PY
ff -f rawvideo -pix_fmt yuv420p10le -s 128x64 -r 10 -i "$TMP/pq.yuv" -c:v libx265 -preset fast -x265-params "log-level=none:crf=4:pools=1:frame-threads=1:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc:range=limited" -color_primaries bt2020 -color_trc smpte2084 -colorspace bt2020nc -color_range tv -tag:v hvc1 hdr_pq.mp4
x hdr_pq.mp4 probe:color_transfer smpte2084
x hdr_pq.mp4 probe:pix_fmt yuv420p10le
x hdr_pq.mp4 app:stripe_1 "black: every channel <= 8"
x hdr_pq.mp4 app:stripe_2 "203 cd/m2 grey: neutral +-4 and >= 165 (146 = PQ codes shown as if SDR)"
x hdr_pq.mp4 app:stripe_3 "brighter than stripe 2, <= 255"
x hdr_pq.mp4 app:stripe_4 "red: G/R <= 0.45 and B/R <= 0.35 (0.61 and 0.41 = washed out)"

#@ 21
A="color=black:s=128x64:r=10:d=1,format=rgba,geq=r='255*gte(X,W/2)':g='255*lt(X,W/2)':b='255*gte(X,W/2)':a='255*lt(X,W/2)'"
ff -f lavfi -i "$A,format=yuva420p" -c:v libvpx-vp9 -auto-alt-ref 0 -crf 20 -b:v 0 -threads 1 alpha_vp9.webm
ff -f lavfi -i "$A,format=argb" -c:v qtrle alpha_qtrle.mov
x alpha_vp9.webm probe:tag:v0:alpha_mode 1
x alpha_vp9.webm app:left_half "green"
x alpha_vp9.webm app:right_half "the documented background colour (white, black or grey); never magenta, which is hidden under alpha 0"
x alpha_qtrle.mov probe:pix_fmt argb
x alpha_qtrle.mov app:left_half green
x alpha_qtrle.mov app:right_half "the same background as for alpha_vp9.webm; never magenta"

#@ 22
ff -f lavfi -i "nullsrc=s=128x96:r=50:d=2,format=gray,geq=lum='if(lt(Y,H/2),255*mod(floor(floor(N/2)/pow(2,floor(X*8/W))),2),255*lt(mod(X-4*N+12800,128),16))',format=yuv420p,tinterlace=interleave_top,fieldorder=tff" $X264 -flags +ildct+ilme -x264-params tff=1 -g 25 -bf 0 -muxdelay 0 -muxpreload 0 interlaced.ts
x interlaced.ts probe:interlaced yes
x interlaced.ts probe:packets 50
x interlaced.ts app:duration_s "2.0 (1.0 or 4.0 = field rate taken for frame rate)"
x interlaced.ts app:frame_index@1.00 25
x interlaced.ts app:combing "in the lower half the mean of |line y - line y+1| is <= 2.0 (without deinterlacing it is about 16)"

#@ 23
ff -f lavfi -i "color=magenta:s=200x200:d=1,format=yuvj420p" -frames:v 1 -q:v 5 "$TMP/c.jpg"
ff -f lavfi -i "sine=f=440:d=3" -i "$TMP/c.jpg" -map 0 -map 1 -c:a libmp3lame -b:a 32k -c:v copy -id3v2_version 3 -disposition:v attached_pic cover.mp3
ff -f lavfi -i "sine=f=440:d=3" -i "$TMP/c.jpg" -map 0 -map 1 -c:a aac -b:a 32k -c:v copy -disposition:v attached_pic cover.m4a
ff -f lavfi -i "sine=f=440:d=1:r=8000" audio_only.wav
for f in cover.mp3 cover.m4a audio_only.wav; do
x $f app:result "'no video in this file', no captions file, no 3-second film of the cover; in a batch the other files go on"; done
x cover.mp3 probe:streams "a,v:pic"
x cover.m4a probe:streams "a:default,v:pic"
x audio_only.wav probe:streams a

#@ 24
ff -f lavfi -i "color=blue:s=320x240:r=1:d=1,format=yuv420p" -f lavfi -i "$(pat 160x96 25 3)" -map 0 -map 1 $X264 -disposition:v:0 0 -disposition:v:1 default multi_video.mkv
x multi_video.mkv probe:streams "v,v:default"
x multi_video.mkv app:frame_index@1.00 "25: the stream marked default is used, not the first, not the largest"
x multi_video.mkv app:display_size 160x96
x multi_video.mkv app:duration_s 3.0

#@ 25
head -c 1500 /dev/zero > "$TMP/font.ttf"; printf '1\n00:00:00,000 --> 00:00:01,000\nhello\n' > "$TMP/s.srt"
ff -i "$TMP/s.srt" -f lavfi -i "$(pat 128x96 25 2)" -map 0 -map 1 $X264 -c:s srt -attach "$TMP/font.ttf" -metadata:s:t mimetype=application/x-truetype-font attach.mkv
ff -f lavfi -i "$(pat 128x96 25 2)" $X264 -timecode 01:00:00:00 tmcd.mov
x attach.mkv probe:streams "s,v,a"
x tmcd.mov probe:streams "v:default,d"
x attach.mkv app:frame_index@1.00 25
x tmcd.mov app:frame_index@1.00 25
x tmcd.mov app:first_cue "00:00:00,000 (the time code 01:00:00:00 is not added)"

#@ 26
ff -f lavfi -i "$(pat 128x96 1 4 8 "settb=1/100,setpts='(eq(N,1)*2+eq(N,2)*5+eq(N,3)*6)/TB'")" -enc_time_base 1:100 -fps_mode passthrough -final_delay 500 vfr.gif
ff -f lavfi -i "$(pat 128x96 2 2)" -c:v libwebp_anim -lossless 1 -loop 0 anim.webp
x vfr.gif probe:pts "0=0.000 1=2.000 2=5.000 3=6.000"
x vfr.gif app:duration_s 11.0
x vfr.gif app:frame_index@4.90 1
x vfr.gif app:frame_index@5.50 2
x vfr.gif app:frame_index@10.0 3
x anim.webp app:result "four frames at 0 0.5 1.0 1.5 s, or 'animated WebP is not supported'; never a caption of an empty picture"

#@ 27
mkdir -p bad/dir.mp4
ff -f lavfi -i "$(pat 128x96 25 2)" $X264 bad/a_good.mp4
ff -f lavfi -i "$(pat 128x96 25 2 8 null 2)" $X264 bad/z_good.mp4
python3 -c "z=open('bad/a_good.mp4','rb').read(); open('bad/moovless.mp4','wb').write(z[:z.find(b'moov')-4])"
: > bad/zero.mp4; printf 'this is not a film\n' > bad/text.mp4
python3 -c "import random; random.seed(7); open('bad/garbage.mp4','wb').write(bytes(random.randrange(256) for _ in range(20000)))"
x bad/moovless.mp4 probe:opens no
x bad/garbage.mp4 probe:opens no
x bad/text.mp4 probe:opens no
x bad/zero.mp4 probe:bytes 0
x bad/dir.mp4 probe:kind dir
x bad app:batch_over_the_folder "a_good and z_good are captioned; one line with the reason for each other entry; exit code not 0"
for f in moovless garbage text zero; do x bad/$f.mp4 app:outputs "none, not even an empty captions file"; done

#@ 28
ff -f lavfi -i "$(pat 128x96 25 8)" $X264 -crf 14 -g 25 -keyint_min 25 -bf 0 corrupt_mid.mp4
python3 - corrupt_mid.mp4 <<'PY'
import random,subprocess,sys,json
f=sys.argv[1]; p=json.loads(subprocess.run(['ffprobe','-v','error','-select_streams','v','-show_entries','packet=pos,size,pts_time','-of','json',f],capture_output=True,text=True).stdout)['packets']
z=bytearray(open(f,'rb').read()); random.seed(3)
for k in p:
    if 3.0<=float(k['pts_time'])<3.99:
        a,n=int(k['pos']),int(k['size'])
        for i in range(a+6,a+n): z[i]=random.randrange(256)
open(f,'wb').write(z)
PY
x corrupt_mid.mp4 probe:packets 200
x corrupt_mid.mp4 probe:decode_errors yes
x corrupt_mid.mp4 app:frame_index@2.00 50
x corrupt_mid.mp4 app:frame_index@6.00 "150 (times after the damage do not slip)"
x corrupt_mid.mp4 app:duration_s 8.0
x corrupt_mid.mp4 app:message "says that 3 s to 4 s could not be read; exit code 0 or a documented 'partial' code"

#@ 29
mkdir -p names; [ -f "$TMP/n.mp4" ] || ff -f lavfi -i "$(pat 128x96 25 1)" $X264 "$TMP/n.mp4"
python3 - "$TMP/n.mp4" <<'PY'
import sys,shutil,unicodedata
for n in ['видео 视频 🎬 '+unicodedata.normalize('NFC','café')+'.mp4',unicodedata.normalize('NFD','naïve')+'.mp4','two  spaces .mp4','100%d done %s %%20 %1.mp4','q\'u"o&t<e>s$(x).mp4','line\nbreak.mp4']: shutil.copy(sys.argv[1],'names/'+n)
shutil.copy(sys.argv[1],b'names/bad\xff\xfebytes.mp4')
PY
x 'names/видео 视频 🎬 café.mp4' probe:packets 25
x 'names/100%d done %s %%20 %1.mp4' probe:packets 25
x 'names/line\nbreak.mp4' probe:packets 25
x 'names/bad\xff\xfebytes.mp4' probe:packets 25
x names app:batch_over_the_folder "7 files captioned; each output is named exactly after its input (no %% doubled or eaten, nothing replaced by _ or ?)"
x names app:jsonl "every line parses as JSON in UTF-8, also for the names with a line break and with bytes that are no UTF-8"
x names app:gui "list shows each name once; none is cut at a '&', '<' or a line break"

#@ 30
mkdir -p longname; [ -f "$TMP/n.mp4" ] || ff -f lavfi -i "$(pat 128x96 25 1)" $X264 "$TMP/n.mp4"
cp "$TMP/n.mp4" "longname/$(python3 -c "print('あ'*80)").mp4"
x "longname/$(cd longname; ls)" probe:name_bytes 244
x longname app:result "captioned under a shortened name that is valid UTF-8, or refused before the first frame is decoded; also with temporary files: name + '.captions.jsonl.tmp' would be 263 bytes, the limit is 255"

#@ 31
mkdir -p collide/sub; [ -f "$TMP/n.mp4" ] || ff -f lavfi -i "$(pat 128x96 25 1)" $X264 "$TMP/n.mp4"
cp "$TMP/n.mp4" collide/a.mp4; ff -i "$TMP/n.mp4" -c copy collide/a.mkv
ff -f lavfi -i "$(pat 128x96 25 1 8 null 3)" $X264 collide/sub/a.mp4
x collide app:batch_over_the_folder "three inputs, three sets of outputs, none overwrites another, also with one output folder for all"

#@ 32
ff -f lavfi -i "$(pat 128x96 25 6)" $X264 -g 25 -muxdelay 0 -muxpreload 0 growing.ts
x growing.ts probe:packets 150
x growing.ts app:run_while_growing "head -c 30000 growing.ts > live.ts; (sleep 5; tail -c +30001 growing.ts >> live.ts) & : the run ends; the result is marked partial or waits"
x growing.ts app:run_after_growing "6.0 s captioned; the cache of the short state is not used again"

#@ 33
mkdir -p stalled; rm -f stalled/stalled.mp4; mkfifo stalled/stalled.mp4
x stalled/stalled.mp4 probe:kind fifo
x stalled/stalled.mp4 app:cli "gives up with a message or at Ctrl-C within 2 s; does not hang"
x growing.ts app:vanish "truncate -s 20000 on a copy while it is read (a share that drops): a message, what was read stays, no SIGBUS if files are mapped; the same for weights and cache"
x stalled/stalled.mp4 app:gui "after 'open' the window still repaints (longest gap of the event loop < 0.1 s), Cancel works, the window closes within 3 s"

#@ 34
mkdir -p batch; for i in 1 2 3; do ff -f lavfi -i "$(pat 128x96 25 6 8 null $i)" $X264 -g 25 batch/clip$i.mp4; done
x batch app:kill_and_resume "kill -9 in the middle of clip2, start again: outputs equal, byte for byte, to those of an undisturbed run; clip1 is not computed twice"
x batch app:torn_jsonl "truncate -s -7 on the JSONL, resume: every line parses, no entry twice, none missing"

#@ 35
cat > fsize_limit.py <<'PY'
# usage: python3 fsize_limit.py BYTES COMMAND... : every file the command writes ends at BYTES; a further write fails as on a full disk (EFBIG)
import os,resource,signal,sys
signal.signal(signal.SIGXFSZ,signal.SIG_IGN); n=int(sys.argv[1]); resource.setrlimit(resource.RLIMIT_FSIZE,(n,n)); os.execvp(sys.argv[2],sys.argv[2:])
PY
x batch app:disk_full_output "python3 fsize_limit.py 0 APP ... : exit code not 0, the message names the file, no empty output remains"
x batch app:disk_full_cache "python3 fsize_limit.py 4096 APP ... : captions come out all the same or the run fails with a message; the next run without limit does not read a cut cache"
x batch app:read_only_output "outputs into a folder with mode 555 (not as root): refused before the first frame is decoded"

#@ 36
x batch app:two_at_once "two runs over batch/ with one cache and one output folder at the same time, 10 times: outputs equal to those of a single run, no mixed lines, no leftovers; or the second says 'in use' and ends with a code"

#@ 37
x batch app:cache_damaged "each cache file in turn: cut to 0 bytes, cut to half, one byte flipped in the middle: the run notices, computes anew, result unchanged; no crash"

#@ 38
ff -f lavfi -i "$(pat 128x96 25 3)" $X264 replaced_v1.mp4
ff -f lavfi -i "$(pat 128x96 25 4 8 null 3)" $X264 replaced_v2.mp4
x replaced_v1.mp4 probe:packets 75
x replaced_v2.mp4 probe:packets 100
x replaced_v2.mp4 app:cache "caption v1 as film.mp4, copy v2 over film.mp4, caption again: 4.0 s and yellow/cyan/magenta, not 3.0 s and red/green/blue"
x replaced_v2.mp4 app:cache_settings "the same film with another sampling rate or model does not get the old entries"

#@ 39
x batch app:cancel "SIGINT, SIGTERM and the GUI's Cancel in the middle: within 2 s, no half-written .srt/.vtt/.jsonl under the final name, no temporary files, the exit code says cancelled, the next run does not take the file for done"

#@ 40
ff -f lavfi -i "nullsrc=s=128x96:r=1:d=5,settb=1/10000,setpts='(eq(N,1)*1.9996+eq(N,2)*59.9996+eq(N,3)*3599.9996+eq(N,4)*3601)/TB',format=gbrp,geq=r='255*(eq(N,0)+eq(N,3))':g='255*(eq(N,1)+eq(N,3))':b='255*(eq(N,2)+eq(N,4))',format=yuv420p" $X264 -bf 0 -enc_time_base 1:10000 -video_track_timescale 10000 -fps_mode passthrough round_up.mp4
x round_up.mp4 probe:pts "1=1.9996 2=59.9996 3=3599.9996"
x round_up.mp4 app:srt_times "a cue that starts at the picture changes reads 00:00:02,000 00:01:00,000 01:00:00,000 (or ,999 when cut off); never ,1000 or :60"
x round_up.mp4 app:unit "formatter: 0.9995 -> 00:00:01,000; 59.9999 -> 00:01:00,000; 3599.9999 -> 01:00:00,000; 0.0004 -> 00:00:00,000"

#@ 41
ff -f lavfi -i "$(pat 144x96 1/10 10920 12)" $X264 -crf 26 -g 200 -bf 0 hours_3h.mkv
x hours_3h.mkv probe:packets 1092
x hours_3h.mkv probe:format_duration 10920
x hours_3h.mkv app:frame_index@3600.0 360
x hours_3h.mkv app:frame_index@10915.0 1091
x hours_3h.mkv app:srt "cues past the first hour read 01:..,02:..,03:.. with comma; numbers rise from 1 by 1"
x hours_3h.mkv app:vtt "first line WEBVTT, an empty line, then times with a dot and with hours"

#@ 42
ff -f lavfi -i "nullsrc=s=128x96:r=25:d=2,format=gbrp,geq=r='255*(mod(N,2))':g='255*mod(floor(N/2),2)':b='255*mod(floor(N/4),2)',format=yuv420p" $X264 -g 1 flash_cuts.mp4
x flash_cuts.mp4 probe:packets 50
x flash_cuts.mp4 app:cues "for every cue end > start; start >= end of the one before; last end <= 2.0; also when each frame is its own scene"

#@ 43
python3 - evil_text.json <<'PY'
import json,sys
json.dump(['a < b & c > d','x --> y','00:00:01,000 --> 00:00:02,000','two\n\nparagraphs','\n leading and trailing \n','line\rreturn','WEBVTT','NOTE remark','<b>bold</b> <c.red>','1','','   ','\u2028line separator','RTL \u202eabc','nul \u0000 inside','emoji \U0001f3ac \U0001f468\u200d\U0001f469\u200d\U0001f467','quote " and \\ backslash','{\\an8}override','%s %d %n'],open(sys.argv[1],'w'),ensure_ascii=True,indent=0)
PY
x evil_text.json app:srt "written as cue texts and read back: as many cues as texts that are not empty; no payload line is empty, is only a number, or contains '-->'"
x evil_text.json app:vtt "the same, with & < > written as &amp; &lt; &gt;; python webvtt-py or a browser reads the same number of cues"
x evil_text.json app:jsonl "one line for each text, each line parses, the text comes back unchanged"
x evil_text.json app:empty "no cue without text is written"

#@ 44
x vfr_burst.mp4 app:locale "LC_ALL=de_DE.UTF-8 (apt-get install locales; localedef -i de_DE -f UTF-8 de_DE.UTF-8): CLI and GUI give outputs byte-identical to LC_ALL=C; times, JSON numbers and '--fps 0.5' keep the dot"

#@ 45
mkdir -p safetensors; python3 - <<'PY'
import json,struct
def w(n,h,data=b'',ln=None):
    h=h if isinstance(h,bytes) else json.dumps(h).encode(); open('safetensors/'+n+'.safetensors','wb').write(struct.pack('<Q',len(h) if ln is None else ln)+h+data)
T=lambda dt,sh,a,b: {'dtype':dt,'shape':sh,'data_offsets':[a,b]}
w('ok',{'t':T('F32',[2,2],0,16)},bytes(16))
w('len_max',b'{}',ln=2**64-1); w('len_minus5',b'{}',ln=2**64-5); w('len_1tb',b'{}',ln=2**40); w('len_99mb',b'{}',ln=99_000_000); w('len_0',b'',ln=0)
open('safetensors/empty.safetensors','wb').close(); open('safetensors/seven_bytes.safetensors','wb').write(b'\1\0\0\0\0\0\0')
w('not_json',bytes(64)); w('offset_past_end',{'t':T('F32',[2,2],0,2**40)},bytes(16)); w('offset_reversed',{'t':T('F32',[2,2],16,0)},bytes(16)); w('offset_negative',{'t':T('F32',[2,2],-16,0)},bytes(16))
w('overlap',{'a':T('F32',[2,2],0,16),'b':T('F32',[2,2],8,24)},bytes(24)); w('unknown_dtype',{'t':T('Q9',[4],0,16)},bytes(16)); w('one_offset',{'t':{'dtype':'F32','shape':[4],'data_offsets':[0]}},bytes(16))
w('twice',b'{"t":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"t":{"dtype":"F32","shape":[4096],"data_offsets":[0,16384]}}',bytes(16))
w('deep',b'{"__metadata__":'+b'['*100000+b']'*100000+b'}'); w('float_dim',{'t':T('F32',[2.5,2],0,20)},bytes(20))
PY
python3 -c "z=open('safetensors/ok.safetensors','rb').read(); open('safetensors/cut_data.safetensors','wb').write(z[:-9])"
x safetensors/ok.safetensors app:load "loads (one tensor t, 2x2)"
x safetensors app:load_every_other_file "(the reference library refuses each of them) a message that names the file, exit code not 0, within 1 s, peak RSS < 200 MiB above an idle start, nothing under ASan/UBSan"
x safetensors/len_max.safetensors probe:bytes 10
x safetensors/cut_data.safetensors app:load "'the file is incomplete' with its name; not a run with zeros for weights"
x safetensors/empty.safetensors probe:bytes 0

#@ 46
mkdir -p gguf; python3 - <<'PY'
import struct
H=lambda nt,nk: b'GGUF'+struct.pack('<IQQ',3,nt,nk); S=lambda s: struct.pack('<Q',len(s))+s
def w(n,z): open('gguf/'+n+'.gguf','wb').write(z)
kv=S(b'general.architecture')+struct.pack('<I',8)+S(b'x'); tn=lambda nd,dims,t=0,off=0: S(b't')+struct.pack('<I',nd)+b''.join(struct.pack('<Q',d) for d in dims)+struct.pack('<IQ',t,off)
ok=H(1,1)+kv+tn(1,[8]); ok+=bytes(-len(ok)%32)+bytes(32); w('ok',ok)
w('nkv_max',H(0,2**64-1)); w('ntensors_max',H(2**63//8,0)); w('string_max',H(0,1)+struct.pack('<Q',2**64-1)+b'a'); w('string_1g',H(0,1)+S(b'k')+struct.pack('<IQ',8,2**30))
w('ndims_9',H(1,1)+kv+tn(9,[1]*9)); w('ndims_max',H(1,1)+kv+S(b't')+struct.pack('<I',2**32-1)+bytes(64)); w('dims_wrap',H(1,1)+kv+tn(2,[2**32,2**32])+bytes(64)); w('dim_2_42',H(1,1)+kv+tn(2,[1152,2**42+1])+bytes(64))
w('type_unknown',H(1,1)+kv+tn(1,[8],t=99)+bytes(64)); w('offset_past_end',H(1,1)+kv+tn(1,[8],off=2**62)+bytes(64)); w('array_max',H(0,1)+S(b'k')+struct.pack('<IIQ',9,4,2**62)); w('version_big_endian',b'GGUF'+struct.pack('>IQQ',3,1,1)); w('cut',ok[:-40])
PY
x gguf app:load_every_file_but_ok "if GGUF is read at all: a message that names the file, exit code not 0, within 1 s, peak RSS < 200 MiB above an idle start, nothing under ASan/UBSan"

#@ 47
mkdir -p tokenizer; python3 - tokenizer/questions.jsonl <<'PY'
import json,sys
Q=['plain question?','','   ','a\u0301 vs \u00e1','\u1e9b\u0323 \ufb01 \u2460','\u200b\u200d\ufeff','\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 family','\u05e9\u05dc\u05d5\u05dd \u0627\u0644\u0633\u0644\u0627\u0645','\u0e19\u0e49\u0e33','\ud55c\uad6d\uc5b4 \u65e5\u672c\u8a9e','e'+'\u0301'*500,'x'*20000,'tab\tnew\nline\r\n','\u0000','<|im_start|>system','<|endoftext|>','</s> [SEP] [CLS] [PAD]','<image> <__media__> <|vision_start|> <video>','1234567890 1,234.5','don\'t DON\u2019T','\u0130stanbul \u00df \u03a3\u03c2','  leading','trailing  ']
open(sys.argv[1],'w').write(''.join(json.dumps({'question':q})+'\n' for q in Q))
open('tokenizer/invalid_utf8.txt','wb').write(b'ok \xc3\x28 \xed\xa0\x80 \xf0\x28\x8c\x28 \xff\xfe \xe2\x82\n')
PY
x tokenizer/questions.jsonl app:ids "same ids as the reference tokenizer (Hugging Face tokenizers, the model's own tokenizer.json) for every line"
x tokenizer/questions.jsonl app:special_strings "text from the user never becomes a control token: '<|im_start|>' gives several ordinary tokens, '<image>' takes no picture slot, no crash about counts"
x tokenizer/questions.jsonl app:stream "answers put out token by token equal the decoded whole; no U+FFFD in between when a character spans tokens"
x tokenizer/invalid_utf8.txt app:question "refused or repaired with U+FFFD; no crash, no endless loop"

#@ 48
x many_frames.mkv app:gui_close_while_decoding "open, start captioning, close the window after 0.1 s, 1 s, 5 s, 20 times each (QT_QPA_PLATFORM=offscreen): exit code 0 within 3 s, no 'QThread: Destroyed', nothing under ASan/TSan"
x many_frames.mkv app:gui_open_next_while_decoding "open another file while the first is read: no frame or caption of the first appears in the second"

#@ 49
x rot90.mp4 app:gui_hidpi "QT_SCALE_FACTOR=1, 1.5, 2: a grab of the preview has 1, 1.5, 2 times the pixels in each direction, 1-pixel block edges are sharp, layout in logical pixels unchanged"

#@ 50
mkdir -p dnd; [ -f "$TMP/n.mp4" ] || ff -f lavfi -i "$(pat 128x96 25 1)" $X264 "$TMP/n.mp4"
cp "$TMP/n.mp4" 'dnd/clip #1 [a b] 50%.mp4'
x 'dnd/clip #1 [a b] 50%.mp4' probe:packets 25
x dnd app:gui_drop "drop of the URL file:///.../clip%20%231%20%5Ba%20b%5D%2050%25.mp4 opens that file; a drop of a folder, of text, of an http URL and of two files at once is handled or refused with a message"

#@ 51
x many_frames.mkv app:rss_growth "peak RSS in the last tenth of the run <= RSS after the first tenth + 64 MiB"
x many_frames.mkv app:rss_paused "GUI paused for 60 s with the file open: RSS does not rise (nothing is decoded ahead without bound)"
x batch app:rss_many_files "the same small file given 500 times in one run: RSS after 500 <= RSS after 50 + 32 MiB; open file handles do not rise"

# ---- self-check: every "probe:" row against ffprobe / the bytes on disk, and the size limits
cat > "$TMP/check.py" <<'PY'
import json,os,subprocess,sys
bad=0; rows=0; per=int(sys.argv[1]); total=int(sys.argv[2]); cache={}
def run(*a): return subprocess.run(['ffprobe','-v','error',*a],stdin=subprocess.DEVNULL,capture_output=True,text=True,timeout=120)
def probe(f):
    if f not in cache:
        r=run('-show_format','-show_streams','-of','json','-i','file:'+f); cache[f]=(r.returncode,json.loads(r.stdout or '{}'))
    return cache[f]
def packets(f,sel,*opt):
    r=run(*opt,'-select_streams',sel,'-show_entries','packet=pts_time,dts_time,flags','-of','json','-i','file:'+f); return json.loads(r.stdout)['packets']
def frames(f,sel,ent):
    r=run('-select_streams',sel,'-show_entries','frame='+ent,'-of','json','-i','file:'+f); return json.loads(r.stdout)['frames']
def near(a,b,tol=0.06): return abs(float(a)-float(b))<=tol
def check(f,k,v):
    a=k.split(':')
    if a[0]=='bytes': return str(os.path.getsize(f))==v, os.path.getsize(f)
    if a[0]=='kind':  return (('fifo' if os.path.exists(f) and __import__('stat').S_ISFIFO(os.stat(f).st_mode) else 'dir' if os.path.isdir(f) else 'file' if os.path.exists(f) else 'none')==v),''
    if a[0]=='name_bytes': g=len(os.fsencode(os.path.basename(f))); return str(g)==v,g
    rc,d=probe(f)
    if a[0]=='opens': return (('yes' if rc==0 and d.get('streams') else 'no')==v), rc
    s=d.get('streams',[]); fm=d.get('format',{})
    if a[0]=='streams': g=','.join(t['codec_type'][0]+(':pic' if t.get('disposition',{}).get('attached_pic') else ':default' if t.get('disposition',{}).get('default') else '') for t in s); return g==v,g
    if a[0]=='format_duration': g=fm.get('duration','N/A'); return (g==v if v=='N/A' else g!='N/A' and near(g,v,max(.06,1e-6*float(v)))),g
    sel=a[1] if len(a)>1 else 'v0'; st=[t for t in s if t['codec_type'][0]==sel[0]][int(sel[1:])]; q=sel[0]+':'+sel[1:]
    if a[0]=='size': g=f"{st['width']}x{st['height']}"; return g==v,g
    if a[0] in('sar','pix_fmt','color_range','color_space','color_transfer','color_primaries','field_order','avg_frame_rate','r_frame_rate','codec_name','has_b_frames'):
        g=str(st.get({'sar':'sample_aspect_ratio'}.get(a[0],a[0]),'unknown')); return g==v,g
    if a[0] in('start_time','duration'): g=st.get(a[0],'N/A'); return (g==v if v=='N/A' else g!='N/A' and near(g,v)),g
    if a[0]=='rotation': g=[x.get('rotation') for x in st.get('side_data_list',[]) if 'rotation' in x]; g=g[0] if g else 0; return near(g,v,.5),g
    if a[0]=='tag': g=next((str(y) for x,y in st.get('tags',{}).items() if x.lower()==a[2]),''); return g==v,g
    if a[0]=='packets': g=len(packets(f,q)); return str(g)==v,g
    if a[0]=='packets_noedit': g=len(packets(f,q,'-ignore_editlist','1')); return str(g)==v,g
    if a[0]=='keyframes': g=sum('K' in p['flags'] for p in packets(f,q)); return str(g)==v,g
    if a[0]=='pts': g=[p.get('pts_time','N/A') for p in packets(f,q)]; g=g if 'N/A' in g else sorted(g,key=float); h=v.split(); w=[g[int(t.split('=')[0])] for t in h]; return all((y==t.split('=')[1]) if 'N/A' in(y,t.split('=')[1]) else near(y,t.split('=')[1],.0006) for y,t in zip(w,h)),w
    if a[0]=='pts_backwards': g=[float(p['dts_time']) for p in packets(f,q,'-fflags','+nofillin') if 'dts_time' in p]; n=sum(y<x for x,y in zip(g,g[1:])); return ('yes' if n else 'no')==v,n
    if a[0]=='frame_sizes': g=' '.join(sorted({f"{x['width']}x{x['height']}" for x in frames(f,q,'width,height')})); return g==v,g
    if a[0]=='frame_pix_fmts': g=' '.join(sorted({x['pix_fmt'] for x in frames(f,q,'pix_fmt')})); return g==v,g
    if a[0]=='frame_rotation': g=[y['rotation'] for x in frames(f,q,'width:frame_side_data=rotation') for y in x.get('side_data_list',[]) if 'rotation' in y]; return bool(g) and near(g[0],v,.5),g
    if a[0]=='frames': g=len(frames(f,q,'pts_time')); return str(g)==v,g
    if a[0]=='interlaced': g=all(x['interlaced_frame']==1 for x in frames(f,q,'interlaced_frame')); return ('yes' if g else 'no')==v,g
    if a[0]=='decode_errors': r=subprocess.run(['ffmpeg','-nostdin','-v','error','-i','file:'+f,'-f','null','-'],capture_output=True); g='yes' if r.stderr else 'no'; return g==v,r.stderr[-200:]
    if a[0]=='has_attached_pic': g=[f"{t['width']}x{t['height']}" for t in s if t['disposition'].get('attached_pic')]; return ('yes' if g else 'no')==v,g
    if a[0]=='ends_between': g=max(float(p['pts_time']) for p in packets(f,q)); lo,hi=map(float,v.split()); return lo<=g<=hi,g
    if a[0]=='same_size_and_mtime_as': g=[(os.stat(z).st_size,os.stat(z).st_mtime_ns) for z in(f,v)]; return g[0]==g[1] and open(f,'rb').read()!=open(v,'rb').read(),g
    if a[0]=='raw_pts_wraps':
        g=[float(p['pts_time']) for p in packets(f,q,'-correct_ts_overflow','0')]; return ('yes' if max(g)-min(g)>90000 else 'no')==v,(g[0],g[-1])
    if a[0]=='starts_inside_gop': g=packets(f,q)[0]['flags']; z=open(f,'rb').read(); i=z.find(b'\0\0\1\0'); j=z.find(b'\0\0\1\xb3'); return ('yes' if 0<=i<j else 'no')==v,(g,i,j)
    raise SystemExit('unknown probe '+k)
for line in open('expected.tsv',encoding='utf-8',errors='surrogateescape'):
    f,k,v=line.rstrip('\n').split('\t')
    if not k.startswith('probe:'): continue
    rows+=1
    try: ok,got=check(f.encode('utf-8','surrogateescape').decode('unicode_escape').encode('latin-1').decode('utf-8','surrogateescape') if '\\' in f else f,k[6:],v)
    except Exception as e: ok,got=False,repr(e)
    if not ok: bad+=1; print('FAIL',f,k,'expected',v,'got',got)
tot=0
for r,_,fs in os.walk('.'):
    for n in fs:
        p=os.path.join(r,n); z=os.lstat(p).st_size; tot+=z
        if z>per: bad+=1; print('FAIL too big',p,z)
if tot>total: bad+=1; print('FAIL total',tot)
print(f'{rows} probe rows checked, {bad} failures, {tot} bytes'); sys.exit(bad>0)
PY
python3 "$TMP/check.py" 300000 6000000
