<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
<context>
    <name>longview::ui</name>
    <message>
        <source>Longview conversation</source>
        <translation>Longview 对话</translation>
    </message>
    <message>
        <source>No answer:</source>
        <translation>没有回答：</translation>
    </message>
    <message>
        <source>(stopped)</source>
        <translation>（已停止）</translation>
    </message>
    <message>
        <source>From these moments:</source>
        <translation>依据这些时刻：</translation>
    </message>
    <message>
        <source>This cannot be done as asked.</source>
        <translation>无法按要求完成。</translation>
    </message>
    <message>
        <source>Something that is needed is missing.</source>
        <translation>缺少所需的内容。</translation>
    </message>
    <message>
        <source>A file is damaged or is not what its name says.</source>
        <translation>文件已损坏，或与其名称不符。</translation>
    </message>
    <message>
        <source>This kind of file or setting is not supported.</source>
        <translation>不支持这种文件或设置。</translation>
    </message>
    <message>
        <source>There is nothing at that time.</source>
        <translation>那个时刻没有内容。</translation>
    </message>
    <message>
        <source>The system did not let a file be read or written.</source>
        <translation>系统不允许读取或写入文件。</translation>
    </message>
    <message>
        <source>There is not enough memory or space.</source>
        <translation>内存或空间不足。</translation>
    </message>
    <message>
        <source>Stopped.</source>
        <translation>已停止。</translation>
    </message>
    <message>
        <source>Longview made a mistake. Please report it with these words:</source>
        <translation>Longview 出错了。请附上以下文字报告：</translation>
    </message>
    <message>
        <source>%1 pictures a second, latents of %2 in %3: %4 of %5 for %6.</source>
        <translation>每秒 %1 帧，潜向量 %2（%3）：%6 的视频占用 %5 中的 %4。</translation>
    </message>
    <message>
        <source>Smaller latents cost quality.</source>
        <translation>潜向量较小会降低质量。</translation>
    </message>
    <message>
        <source>int8 rounds what bf16 would keep.</source>
        <translation>int8 会舍去 bf16 保留的精度。</translation>
    </message>
    <message>
        <source>What lasts less than %1 s may be missed.</source>
        <translation>短于 %1 秒的画面可能会漏掉。</translation>
    </message>
    <message>
        <source>Reading takes up to %1 times as long.</source>
        <translation>读取最多需要 %1 倍的时间。</translation>
    </message>
    <message>
        <source>%1 more</source>
        <translation>另有 %1 个</translation>
    </message>
    <message>
        <source>%1 (its file cannot be used)</source>
        <translation>%1（文件无法使用）</translation>
    </message>
    <message>
        <source>%1 (nothing of it is read yet)</source>
        <translation>%1（尚未读取）</translation>
    </message>
    <message>
        <source>Left out: %1.</source>
        <translation>未包括：%1。</translation>
    </message>
    <message>
        <source>choose Settings › Model › Bring missing parts</source>
        <translation>请选择“设置 › 模型 › 获取缺少的部件”</translation>
    </message>
    <message>
        <source>%1 is not there. It may have been moved, or its disk is not connected.</source>
        <translation>%1 不在那里。它可能已被移走，或者所在的磁盘没有连接。</translation>
    </message>
    <message>
        <source>You have no right to use %1 there. Change its rights or choose another folder.</source>
        <translation>您没有权限在那里使用 %1。请更改其权限，或选择另一个文件夹。</translation>
    </message>
    <message>
        <source>The disk is too full to write %1. Make room and try again.</source>
        <translation>磁盘空间不足，无法写入 %1。请腾出空间后重试。</translation>
    </message>
    <message>
        <source>%1 is empty. It may not be copied yet.</source>
        <translation>%1 是空的。它可能还没有复制完。</translation>
    </message>
    <message>
        <source>There is no video in %1.</source>
        <translation>%1 中没有视频。</translation>
    </message>
    <message>
        <source>The video in %1 is of a kind that cannot be read here. Convert it, to MP4 for example.</source>
        <translation>%1 中的视频格式无法在此读取。请先转换格式，例如转为 MP4。</translation>
    </message>
    <message>
        <source>Nothing of %1 was read yet. Ask again in a while.</source>
        <translation>尚未读取 %1 的任何内容。请稍后再问。</translation>
    </message>
    <message>
        <source>A part of the model is missing or damaged: %1. Choose Settings › Model › Bring missing parts.</source>
        <translation>模型的一个部件缺失或已损坏：%1。请选择“设置 › 模型 › 获取缺少的部件”。</translation>
    </message>
    <message>
        <source>%1 is damaged or is not what its name says.</source>
        <translation>%1 已损坏，或与其名称不符。</translation>
    </message>
    <message>
        <source>Details: %1</source>
        <translation>详情：%1</translation>
    </message>
    <message>
        <source>%1 (reading it failed)</source>
        <translation>%1（读取失败）</translation>
    </message>
</context>
<context>
    <name>longview::ui::CompareChart</name>
    <message>
        <source>Chart of the memory that each mode takes</source>
        <translation>各模式所需内存的图表</translation>
    </message>
    <message>
        <source>Nothing was measured yet.</source>
        <translation>还没有测量。</translation>
    </message>
    <message>
        <source>grey: predicted · colour: measured · each step of the same length is the same factor</source>
        <translation>灰色：预测 · 彩色：实测 · 对数刻度，长度相差相同即倍数相同</translation>
    </message>
</context>
<context>
    <name>longview::ui::CompareModel</name>
    <message>
        <source>%1 B</source>
        <translation>%1 B</translation>
    </message>
    <message>
        <source>Share of words that are the same as with exact attention</source>
        <translation>与精确注意力得出相同用词的比例</translation>
    </message>
    <message>
        <source>Mode</source>
        <translation>模式</translation>
    </message>
    <message>
        <source>Numbers</source>
        <translation>数值类型</translation>
    </message>
    <message>
        <source>Per token</source>
        <translation>每词元</translation>
    </message>
    <message>
        <source>Predicted</source>
        <translation>预测</translation>
    </message>
    <message>
        <source>Measured</source>
        <translation>实测</translation>
    </message>
    <message>
        <source>%1 h</source>
        <translation>%1 小时</translation>
    </message>
    <message>
        <source>First word</source>
        <translation>首词</translation>
    </message>
    <message>
        <source>Each word</source>
        <translation>每词</translation>
    </message>
    <message>
        <source>Same words</source>
        <translation>用词相同</translation>
    </message>
</context>
<context>
    <name>longview::ui::Conversation</name>
    <message>
        <source>Waiting…</source>
        <translation>等待中…</translation>
    </message>
    <message>
        <source>Loading the model…</source>
        <translation>正在载入模型…</translation>
    </message>
    <message>
        <source>Reading the film…</source>
        <translation>正在读取视频…</translation>
    </message>
    <message>
        <source>Loading what was read…</source>
        <translation>正在载入已读内容…</translation>
    </message>
    <message>
        <source>Thinking…</source>
        <translation>正在思考…</translation>
    </message>
    <message>
        <source>Answering</source>
        <translation>回答问题</translation>
    </message>
    <message>
        <source>Chapters</source>
        <translation>章节</translation>
    </message>
    <message>
        <source>Only the first %1 were read so far.</source>
        <translation>目前只读取了前 %1。</translation>
    </message>
</context>
<context>
    <name>longview::ui::ConversationView</name>
    <message>
        <source>Ask something about the film, or try one of the buttons below. Answers name the moments that they come from; click one to go there.</source>
        <translation>就视频提一个问题，或试试下面的按钮。回答会列出其依据的时刻，点击即可跳到那里。</translation>
    </message>
    <message>
        <source>Conversation</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>Whole film</source>
        <translation>整部视频</translation>
    </message>
    <message>
        <source>Ask about the whole film again</source>
        <translation>重新就整部视频提问</translation>
    </message>
    <message>
        <source>Describe</source>
        <translation>描述</translation>
    </message>
    <message>
        <source>Describe what is seen</source>
        <translation>描述画面内容</translation>
    </message>
    <message>
        <source>Describe what is seen.</source>
        <translation>描述画面内容。</translation>
    </message>
    <message>
        <source>Chapters</source>
        <translation>章节</translation>
    </message>
    <message>
        <source>One line for each part of the film</source>
        <translation>视频每一段一行</translation>
    </message>
    <message>
        <source>Summary</source>
        <translation>摘要</translation>
    </message>
    <message>
        <source>Sum up the film</source>
        <translation>概括视频</translation>
    </message>
    <message>
        <source>Sum up this film.</source>
        <translation>概括这部视频。</translation>
    </message>
    <message>
        <source>Export…</source>
        <translation>导出…</translation>
    </message>
    <message>
        <source>Save the conversation or its moments</source>
        <translation>保存对话或其中的时刻</translation>
    </message>
    <message>
        <source>Ask all videos of the library</source>
        <translation>就资料库中的所有视频提问</translation>
    </message>
    <message>
        <source>Ask about this film</source>
        <translation>就这部视频提问（请用英文）</translation>
    </message>
    <message>
        <source>Question</source>
        <translation>问题</translation>
    </message>
    <message>
        <source>Ask</source>
        <translation>提问</translation>
    </message>
    <message>
        <source>Questions are about %1 – %2.</source>
        <translation>提问范围：%1 – %2。</translation>
    </message>
    <message>
        <source>A question has at most %1 characters; what was more is left out.</source>
        <translation>一个问题最多 %1 个字符，超出的部分已略去。</translation>
    </message>
</context>
<context>
    <name>longview::ui::EngineBridge</name>
    <message>
        <source>%1 cannot be used; the processor computes instead. %2</source>
        <translation>%1 无法使用，改由处理器计算。%2</translation>
    </message>
</context>
<context>
    <name>longview::ui::Exporter</name>
    <message>
        <source>Saving %1</source>
        <translation>正在保存 %1</translation>
    </message>
    <message>
        <source>Saved %1</source>
        <translation>已保存 %1</translation>
    </message>
    <message>
        <source>Saving clips</source>
        <translation>正在保存片段</translation>
    </message>
    <message>
        <source>Saved a clip in %1</source>
        <translation>已在 %1 中保存 1 个片段</translation>
    </message>
    <message>
        <source>Saved %1 clips in %2</source>
        <translation>已在 %2 中保存 %1 个片段</translation>
    </message>
</context>
<context>
    <name>longview::ui::FilmPage</name>
    <message>
        <source>This is of %1.</source>
        <translation>这里显示的是 %1。</translation>
    </message>
</context>
<context>
    <name>longview::ui::JobModel</name>
    <message>
        <source>%1: failed</source>
        <translation>%1：失败</translation>
    </message>
    <message>
        <source>%1: stopped</source>
        <translation>%1：已停止</translation>
    </message>
    <message>
        <source>%1: done</source>
        <translation>%1：完成</translation>
    </message>
    <message>
        <source>%1: %2 %</source>
        <translation>%1：%2 %</translation>
    </message>
</context>
<context>
    <name>longview::ui::LibraryModel</name>
    <message>
        <source>%1, %2, %3</source>
        <translation>%1，%2，%3</translation>
    </message>
    <message>
        <source>waiting</source>
        <translation>等待中</translation>
    </message>
    <message>
        <source>reading, %1 %</source>
        <translation>读取中，%1 %</translation>
    </message>
    <message>
        <source>paused, %1 % read</source>
        <translation>已暂停，已读 %1 %</translation>
    </message>
    <message>
        <source>%1 % read</source>
        <translation>已读 %1 %</translation>
    </message>
    <message>
        <source>partly read</source>
        <translation>部分已读</translation>
    </message>
    <message>
        <source>read</source>
        <translation>已读</translation>
    </message>
    <message>
        <source>reading failed</source>
        <translation>读取失败</translation>
    </message>
</context>
<context>
    <name>longview::ui::LibraryPane</name>
    <message>
        <source>Find a video</source>
        <translation>查找视频</translation>
    </message>
    <message>
        <source>Videos</source>
        <translation>视频</translation>
    </message>
    <message>
        <source>Add videos…</source>
        <translation>添加视频…</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>打开</translation>
    </message>
    <message>
        <source>Read now</source>
        <translation>立即读取</translation>
    </message>
    <message>
        <source>Pause reading</source>
        <translation>暂停读取</translation>
    </message>
    <message>
        <source>Remove from the list</source>
        <translation>从列表中移除</translation>
    </message>
</context>
<context>
    <name>longview::ui::MainWindow</name>
    <message>
        <source>Longview</source>
        <translation>Longview</translation>
    </message>
    <message>
        <source>Library</source>
        <translation>资料库</translation>
    </message>
    <message>
        <source>Conversation</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>Search</source>
        <translation>搜索</translation>
    </message>
    <message>
        <source>Drop a video here, or open one with Ctrl+O.</source>
        <translation>将视频拖到这里，或按 Ctrl+O 打开。</translation>
    </message>
    <message>
        <source>Close this message</source>
        <translation>关闭此消息</translation>
    </message>
    <message>
        <source>Progress</source>
        <translation>进度</translation>
    </message>
    <message>
        <source>Stop all that runs</source>
        <translation>停止所有任务</translation>
    </message>
    <message>
        <source>Opening %1…</source>
        <translation>正在打开 %1…</translation>
    </message>
    <message>
        <source>%1 – Longview</source>
        <translation>%1 – Longview</translation>
    </message>
    <message>
        <source>%1 is not a file on this machine. Longview opens files only.</source>
        <translation>%1 不是本机上的文件。Longview 只能打开文件。</translation>
    </message>
    <message>
        <source>Only files can be dropped here.</source>
        <translation>这里只能拖入文件。</translation>
    </message>
    <message>
        <source>&amp;Ask</source>
        <translation>提问(&amp;A)</translation>
    </message>
    <message>
        <source>Ask a &amp;question</source>
        <translation>提出问题(&amp;Q)</translation>
    </message>
    <message>
        <source>&amp;Search for a moment</source>
        <translation>搜索时刻(&amp;S)</translation>
    </message>
    <message>
        <source>S&amp;top answering</source>
        <translation>停止回答(&amp;T)</translation>
    </message>
    <message>
        <source>&amp;New conversation</source>
        <translation>新对话(&amp;N)</translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation>查看(&amp;V)</translation>
    </message>
    <message>
        <source>&amp;Full screen</source>
        <translation>全屏(&amp;F)</translation>
    </message>
    <message>
        <source>&amp;Memory…</source>
        <translation>内存(&amp;M)…</translation>
    </message>
    <message>
        <source>&amp;Settings…</source>
        <translation>设置(&amp;S)…</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>帮助(&amp;H)</translation>
    </message>
    <message>
        <source>&amp;Keyboard shortcuts</source>
        <translation>键盘快捷键(&amp;K)</translation>
    </message>
    <message>
        <source>&amp;About Longview</source>
        <translation>关于 Longview(&amp;A)</translation>
    </message>
    <message>
        <source>About Longview</source>
        <translation>关于 Longview</translation>
    </message>
    <message>
        <source>&lt;b&gt;Longview %1&lt;/b&gt;&lt;p&gt;Answers questions about hours of video on your own machine. Nothing leaves it.&lt;/p&gt;&lt;p&gt;Treat answers as pointers to moments worth looking at: the model is small and names wrong things with confidence.&lt;/p&gt;&lt;p&gt;Apache License 2.0&lt;/p&gt;</source>
        <translation>&lt;b&gt;Longview %1&lt;/b&gt;&lt;p&gt;在自己的电脑上回答关于数小时视频的问题，数据不离开本机。&lt;/p&gt;&lt;p&gt;请把回答当作值得查看的时刻的线索：模型很小，会很有把握地说错。&lt;/p&gt;&lt;p&gt;Apache 许可证 2.0&lt;/p&gt;</translation>
    </message>
    <message>
        <source>&amp;File</source>
        <translation>文件(&amp;F)</translation>
    </message>
    <message>
        <source>&amp;Open…</source>
        <translation>打开(&amp;O)…</translation>
    </message>
    <message>
        <source>Open &amp;recent</source>
        <translation>最近打开(&amp;R)</translation>
    </message>
    <message>
        <source>&amp;Pause reading</source>
        <translation>暂停读取(&amp;P)</translation>
    </message>
    <message>
        <source>&amp;Go on reading</source>
        <translation>继续读取(&amp;G)</translation>
    </message>
    <message>
        <source>&amp;Export</source>
        <translation>导出(&amp;E)</translation>
    </message>
    <message>
        <source>Conversation as &amp;Markdown…</source>
        <translation>对话导出为 &amp;Markdown…</translation>
    </message>
    <message>
        <source>Moments as &amp;clips…</source>
        <translation>时刻导出为片段(&amp;C)…</translation>
    </message>
    <message>
        <source>Moments as &amp;edit list (EDL)…</source>
        <translation>时刻导出为剪辑表 (&amp;EDL)…</translation>
    </message>
    <message>
        <source>Answers as &amp;subtitles (SRT)…</source>
        <translation>回答导出为字幕 (&amp;SRT)…</translation>
    </message>
    <message>
        <source>&amp;Quit</source>
        <translation>退出(&amp;Q)</translation>
    </message>
    <message>
        <source>Open videos</source>
        <translation>打开视频</translation>
    </message>
    <message>
        <source>There is nothing to save yet: ask something first.</source>
        <translation>还没有可保存的内容：请先提问。</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>保存</translation>
    </message>
    <message>
        <source>Folder for the clips</source>
        <translation>片段保存到的文件夹</translation>
    </message>
    <message>
        <source>Message: %1</source>
        <translation>消息：%1</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Stop what runs; what was read is kept</source>
        <translation>停止任务；已读内容会保留</translation>
    </message>
    <message>
        <source>Stop what runs</source>
        <translation>停止任务</translation>
    </message>
    <message>
        <source>Stop: %1</source>
        <translation>停止：%1</translation>
    </message>
    <message>
        <source>%1 of the cache were removed, as the limit wants.</source>
        <translation>已按大小上限删除 %1 缓存。</translation>
    </message>
    <message>
        <source>%1 was replaced by another file; it is opened anew.</source>
        <translation>%1 已被另一个文件替换，正在重新打开。</translation>
    </message>
    <message>
        <source>Open a &amp;folder…</source>
        <translation>打开文件夹(&amp;F)…</translation>
    </message>
    <message>
        <source>Open a folder of videos</source>
        <translation>打开视频文件夹</translation>
    </message>
    <message>
        <source>The measurement ended with the window. Begin it again.</source>
        <translation>测量已随窗口结束，请重新开始。</translation>
    </message>
    <message>
        <source>… and %1 more</source>
        <translation>……还有 %1 项</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>撤销</translation>
    </message>
    <message>
        <source>A new conversation has begun.</source>
        <translation>已开始新的对话。</translation>
    </message>
    <message>
        <source>No answer names a moment of this film yet: ask something about it first.</source>
        <translation>还没有回答指出本片中的时刻：请先提问。</translation>
    </message>
</context>
<context>
    <name>longview::ui::MemoryPage</name>
    <message>
        <source>In use: %1</source>
        <translation>使用中：%1</translation>
    </message>
    <message>
        <source>Ways of holding the cache</source>
        <translation>缓存的存放方式</translation>
    </message>
    <message>
        <source>Measure now</source>
        <translation>立即测量</translation>
    </message>
    <message>
        <source>Use the selected mode and ask again</source>
        <translation>使用所选模式并重新提问</translation>
    </message>
    <message>
        <source>Progress of the measurement</source>
        <translation>测量进度</translation>
    </message>
    <message>
        <source>Budget</source>
        <translation>预算</translation>
    </message>
    <message>
        <source>Memory for the cache</source>
        <translation>缓存可用内存</translation>
    </message>
    <message>
        <source> hours</source>
        <translation> 小时</translation>
    </message>
    <message>
        <source>Hours of film</source>
        <translation>视频小时数</translation>
    </message>
    <message>
        <source>for</source>
        <translation>用于</translation>
    </message>
    <message>
        <source>Use this</source>
        <translation>采用</translation>
    </message>
    <message>
        <source>Measuring the cache modes</source>
        <translation>测量各缓存模式</translation>
    </message>
    <message>
        <source>Stop measuring</source>
        <translation>停止测量</translation>
    </message>
    <message>
        <source>Open a video first</source>
        <translation>请先打开视频</translation>
    </message>
    <message>
        <source>%1 is still measured.</source>
        <translation>仍在测量 %1。</translation>
    </message>
</context>
<context>
    <name>longview::ui::ModelPage</name>
    <message>
        <source>Bring missing parts (uses the network)</source>
        <translation>获取缺少的部件（需要联网）</translation>
    </message>
    <message>
        <source>Remove the selected part</source>
        <translation>移除所选部件</translation>
    </message>
    <message>
        <source>Parts of the model</source>
        <translation>模型部件</translation>
    </message>
    <message>
        <source>Part</source>
        <translation>部件</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>大小</translation>
    </message>
    <message>
        <source>State</source>
        <translation>状态</translation>
    </message>
    <message>
        <source>SHA-256</source>
        <translation>SHA-256</translation>
    </message>
    <message>
        <source>File</source>
        <translation>文件</translation>
    </message>
    <message>
        <source>Checking…</source>
        <translation>正在检查…</translation>
    </message>
    <message>
        <source>Checking the model</source>
        <translation>检查模型</translation>
    </message>
    <message>
        <source>right</source>
        <translation>正确</translation>
    </message>
    <message>
        <source>missing</source>
        <translation>缺少</translation>
    </message>
    <message>
        <source>damaged</source>
        <translation>损坏</translation>
    </message>
    <message>
        <source>Every part is there and right.</source>
        <translation>所有部件齐全且正确。</translation>
    </message>
    <message>
        <source>The script that brings the parts is not installed beside this program.</source>
        <translation>本程序旁没有安装用于获取部件的脚本。</translation>
    </message>
    <message>
        <source>Python 3 could not be started; it is needed to bring the parts.</source>
        <translation>无法启动 Python 3；获取部件需要它。</translation>
    </message>
    <message>
        <source>Bringing the parts…</source>
        <translation>正在获取部件…</translation>
    </message>
    <message>
        <source>Remove a part</source>
        <translation>移除部件</translation>
    </message>
    <message>
        <source>Remove %1? No question can be answered without it until it is brought again.</source>
        <translation>移除 %1？重新获取之前将无法回答任何问题。</translation>
    </message>
    <message>
        <source>Stopped; what was brought whole is kept.</source>
        <translation>已停止；已完整获取的部分会保留。</translation>
    </message>
    <message>
        <source>Stop bringing</source>
        <translation>停止获取</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
    <message>
        <source>Keep</source>
        <translation>保留</translation>
    </message>
</context>
<context>
    <name>longview::ui::MomentModel</name>
    <message>
        <source>%1 – %2 of %3</source>
        <translation>%3 的 %1 – %2</translation>
    </message>
</context>
<context>
    <name>longview::ui::MpvPlayer</name>
    <message>
        <source>The player could not start (out of memory?).</source>
        <translation>播放器无法启动（内存不足？）。</translation>
    </message>
    <message>
        <source>The player could not start: %1</source>
        <translation>播放器无法启动：%1</translation>
    </message>
    <message>
        <source>The film cannot be played: %1</source>
        <translation>无法播放视频：%1</translation>
    </message>
</context>
<context>
    <name>longview::ui::PlayerPanel</name>
    <message>
        <source>Film</source>
        <translation>视频</translation>
    </message>
    <message>
        <source>Play</source>
        <translation>播放</translation>
    </message>
    <message>
        <source>Pause</source>
        <translation>暂停</translation>
    </message>
    <message>
        <source>Space</source>
        <translation>空格</translation>
    </message>
    <message>
        <source>Previous picture</source>
        <translation>上一帧</translation>
    </message>
    <message>
        <source>Next picture</source>
        <translation>下一帧</translation>
    </message>
    <message>
        <source>Show the captions over the film</source>
        <translation>在视频上显示字幕</translation>
    </message>
    <message>
        <source>Speed</source>
        <translation>速度</translation>
    </message>
    <message>
        <source>Mute</source>
        <translation>静音</translation>
    </message>
    <message>
        <source>Volume</source>
        <translation>音量</translation>
    </message>
    <message>
        <source>Space, P</source>
        <translation>空格、P</translation>
    </message>
    <message>
        <source>Play or pause</source>
        <translation>播放或暂停</translation>
    </message>
    <message>
        <source>5 seconds back or on</source>
        <translation>后退或前进 5 秒</translation>
    </message>
    <message>
        <source>1 second back or on</source>
        <translation>后退或前进 1 秒</translation>
    </message>
    <message>
        <source>A minute on or back</source>
        <translation>前进或后退一分钟</translation>
    </message>
    <message>
        <source>Previous or next picture</source>
        <translation>上一帧或下一帧</translation>
    </message>
    <message>
        <source>10 seconds back, stop, play and faster</source>
        <translation>后退 10 秒、停止、播放并加速</translation>
    </message>
    <message>
        <source>Slower or faster</source>
        <translation>减速或加速</translation>
    </message>
    <message>
        <source>Backspace</source>
        <translation>退格</translation>
    </message>
    <message>
        <source>Normal speed</source>
        <translation>正常速度</translation>
    </message>
    <message>
        <source>Quieter or louder</source>
        <translation>降低或提高音量</translation>
    </message>
    <message>
        <source>Captions over the film</source>
        <translation>视频上的字幕</translation>
    </message>
    <message>
        <source>Home, End</source>
        <translation>Home、End</translation>
    </message>
    <message>
        <source>To the beginning or the end</source>
        <translation>到开头或结尾</translation>
    </message>
    <message>
        <source>Full screen</source>
        <translation>全屏</translation>
    </message>
    <message>
        <source>Questions from here on, or up to here</source>
        <translation>从此处起提问，或到此处为止</translation>
    </message>
    <message>
        <source>Escape</source>
        <translation>Esc</translation>
    </message>
    <message>
        <source>Leave the full screen, or ask about the whole film again</source>
        <translation>退出全屏，或重新就整部视频提问</translation>
    </message>
</context>
<context>
    <name>longview::ui::SearchPane</name>
    <message>
        <source>Search</source>
        <translation>搜索</translation>
    </message>
    <message>
        <source>In all videos of the library</source>
        <translation>在资料库的所有视频中</translation>
    </message>
    <message>
        <source>Words for what is seen</source>
        <translation>描述画面的文字（英文）</translation>
    </message>
    <message>
        <source>Words to search for</source>
        <translation>要搜索的文字</translation>
    </message>
    <message>
        <source>Moments found</source>
        <translation>找到的时刻</translation>
    </message>
    <message>
        <source>Searching…</source>
        <translation>正在搜索…</translation>
    </message>
    <message>
        <source>Searching</source>
        <translation>搜索</translation>
    </message>
    <message>
        <source>Nothing was found.</source>
        <translation>没有找到。</translation>
    </message>
</context>
<context>
    <name>longview::ui::SelfTestModel</name>
    <message>
        <source>At %1 of %2: %3 of %4 found</source>
        <translation>在 %2 的 %1 处：找到 %3/%4</translation>
    </message>
    <message>
        <source>Depth</source>
        <translation>位置</translation>
    </message>
</context>
<context>
    <name>longview::ui::SelfTestPage</name>
    <message>
        <source>Plants pictures in hours made of the open film and looks for each by its caption. A box is a place in a length of film: green where every picture was found, red where none was.</source>
        <translation>把图片植入由当前视频循环而成的长片，再按各图的说明去找。每个方格是某一时长中的某一位置：绿色表示全部找到，红色表示一张也没找到。</translation>
    </message>
    <message>
        <source>Shorter ones are tested, too. Ten hours take long and much memory.</source>
        <translation>较短的时长也会测试。十小时耗时较长，占用内存较多。</translation>
    </message>
    <message>
        <source>&amp;Places along it</source>
        <translation>其中的位置数(&amp;P)</translation>
    </message>
    <message>
        <source>Longest &amp;film</source>
        <translation>最长时长(&amp;F)</translation>
    </message>
    <message>
        <source>The demo clips</source>
        <translation>演示片段</translation>
    </message>
    <message>
        <source>A folder with captions.tsv: a line a picture, its file, a tab, and what it shows</source>
        <translation>含 captions.tsv 的文件夹：每行一张图片，依次为文件名、制表符、画面说明</translation>
    </message>
    <message>
        <source>Choose…</source>
        <translation>选择…</translation>
    </message>
    <message>
        <source>Choose the folder of pictures</source>
        <translation>选择图片文件夹</translation>
    </message>
    <message>
        <source>P&amp;ictures to plant</source>
        <translation>要植入的图片(&amp;I)</translation>
    </message>
    <message>
        <source>What counts as found</source>
        <translation>怎样算找到</translation>
    </message>
    <message>
        <source>Found first by a search for the caption</source>
        <translation>按说明搜索，排在第一</translation>
    </message>
    <message>
        <source>Most attention of all when the whole film is asked</source>
        <translation>对全片提问时，得到的注意力最多</translation>
    </message>
    <message>
        <source>What was found, by depth and length</source>
        <translation>按位置和时长列出的查找结果</translation>
    </message>
    <message>
        <source>Progress of the self-test</source>
        <translation>自检进度</translation>
    </message>
    <message>
        <source>Copy as text</source>
        <translation>复制为文本</translation>
    </message>
    <message>
        <source>Folder of pictures to plant</source>
        <translation>要植入的图片所在的文件夹</translation>
    </message>
    <message>
        <source>Self-test</source>
        <translation>自检</translation>
    </message>
    <message>
        <source>This model has no trained retrieval heads: a search ranks by attention, too.</source>
        <translation>此模型没有训练过的检索头：搜索同样按注意力排序。</translation>
    </message>
    <message>
        <source>Nothing was tested yet.</source>
        <translation>还没有测试。</translation>
    </message>
    <message>
        <source>Found: %1 of %2. Boxes tested: %3 of %4.</source>
        <translation>找到：%1/%2。已测方格：%3/%4。</translation>
    </message>
    <message>
        <source>Stop the test</source>
        <translation>停止测试</translation>
    </message>
    <message>
        <source>Run the test</source>
        <translation>开始测试</translation>
    </message>
    <message>
        <source>Open a video first</source>
        <translation>请先打开视频</translation>
    </message>
    <message>
        <source>%1 is still tested.</source>
        <translation>仍在测试 %1。</translation>
    </message>
</context>
<context>
    <name>longview::ui::SettingsDialog</name>
    <message>
        <source>Settings</source>
        <translation>设置</translation>
    </message>
    <message>
        <source>Pages of settings</source>
        <translation>设置页</translation>
    </message>
    <message>
        <source>General</source>
        <translation>常规</translation>
    </message>
    <message>
        <source>Reading</source>
        <translation>读取</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>As the system</source>
        <translation>跟随系统</translation>
    </message>
    <message>
        <source>&amp;Language</source>
        <translation>语言(&amp;L)</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>浅色</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>深色</translation>
    </message>
    <message>
        <source>&amp;Colours</source>
        <translation>配色(&amp;C)</translation>
    </message>
    <message>
        <source>All cores</source>
        <translation>所有核心</translation>
    </message>
    <message>
        <source>&amp;Threads</source>
        <translation>线程数(&amp;T)</translation>
    </message>
    <message>
        <source>Best there is</source>
        <translation>自动选择</translation>
    </message>
    <message>
        <source>Processor</source>
        <translation>处理器</translation>
    </message>
    <message>
        <source>Compute &amp;on</source>
        <translation>计算设备(&amp;O)</translation>
    </message>
    <message>
        <source>The usual place</source>
        <translation>默认位置</translation>
    </message>
    <message>
        <source>Choose…</source>
        <translation>选择…</translation>
    </message>
    <message>
        <source>Cache folder</source>
        <translation>缓存文件夹</translation>
    </message>
    <message>
        <source>Cache &amp;folder</source>
        <translation>缓存文件夹(&amp;F)</translation>
    </message>
    <message>
        <source> GB</source>
        <translation> GB</translation>
    </message>
    <message>
        <source>No limit</source>
        <translation>不限</translation>
    </message>
    <message>
        <source>Size &amp;limit of the folder</source>
        <translation>文件夹大小上限(&amp;L)</translation>
    </message>
    <message>
        <source>Beyond the limit, what was used longest ago is removed; films themselves never are.</source>
        <translation>超过上限时移除最久未用的缓存；视频本身绝不会被移除。</translation>
    </message>
    <message>
        <source>The best few pictures</source>
        <translation>最相关的几帧</translation>
    </message>
    <message>
        <source>Every picture (slower)</source>
        <translation>每一帧（较慢）</translation>
    </message>
    <message>
        <source>&amp;Questions look at</source>
        <translation>提问时查看(&amp;Q)</translation>
    </message>
    <message>
        <source>Exact: every picture</source>
        <translation>精确：每一帧</translation>
    </message>
    <message>
        <source>Fast: no loop filter, no unreferenced pictures</source>
        <translation>快速：不做环路滤波，跳过非参考帧</translation>
    </message>
    <message>
        <source>Fastest: keyframes only</source>
        <translation>最快：仅关键帧</translation>
    </message>
    <message>
        <source>Also the first picture of each shot</source>
        <translation>同时保留每个镜头的第一帧</translation>
    </message>
    <message>
        <source>&amp;Decoding</source>
        <translation>解码(&amp;D)</translation>
    </message>
    <message>
        <source>Pictures a &amp;second</source>
        <translation>每秒帧数(&amp;S)</translation>
    </message>
    <message>
        <source>Self-test</source>
        <translation>自检</translation>
    </message>
    <message>
        <source>In use: %1 (%2)</source>
        <translation>当前使用：%1（%2）</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>The open film is read again at once with new settings, any other when it is opened.</source>
        <translation>更改设置后，打开的视频会立即重新读取，其他视频在打开时重新读取。</translation>
    </message>
</context>
<context>
    <name>longview::ui::ShortcutsDialog</name>
    <message>
        <source>Keyboard shortcuts</source>
        <translation>键盘快捷键</translation>
    </message>
    <message>
        <source>Key</source>
        <translation>按键</translation>
    </message>
    <message>
        <source>What it does</source>
        <translation>作用</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
</context>
<context>
    <name>longview::ui::TimelineWidget</name>
    <message>
        <source>Timeline</source>
        <translation>时间轴</translation>
    </message>
    <message>
        <source>Click to go to a time, drag to limit questions to a range.</source>
        <translation>点击跳到某一时刻，拖动限定提问范围。</translation>
    </message>
    <message>
        <source>not read yet</source>
        <translation>尚未读取</translation>
    </message>
</context>
<context>
    <name>longview::ui::TurnWidget</name>
    <message>
        <source>Stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <source>Ask again</source>
        <translation>重新提问</translation>
    </message>
    <message>
        <source>Copy the answer</source>
        <translation>复制回答</translation>
    </message>
    <message>
        <source>No answer:</source>
        <translation>没有回答：</translation>
    </message>
    <message>
        <source>(stopped)</source>
        <translation>（已停止）</translation>
    </message>
    <message>
        <source>asked about %1 – %2</source>
        <translation>提问范围 %1 – %2</translation>
    </message>
    <message>
        <source>only the first %1 of %2 were read so far</source>
        <translation>目前只读了 %2 中的前 %1</translation>
    </message>
    <message>
        <source>from %1 of cache (%2, %3) in %4</source>
        <translation>取自 %1 缓存（%2，%3），用时 %4</translation>
    </message>
    <message>
        <source>%1 · %2 %</source>
        <translation>%1 · %2 %</translation>
    </message>
    <message>
        <source>Go to %1 of %2</source>
        <translation>跳到 %2 的 %1</translation>
    </message>
    <message>
        <source>Question: %1</source>
        <translation>问题：%1</translation>
    </message>
    <message>
        <source>Answer: %1</source>
        <translation>回答：%1</translation>
    </message>
</context>
<context>
    <name>longview::ui::VideoController</name>
    <message>
        <source>Opening %1</source>
        <translation>打开 %1</translation>
    </message>
    <message>
        <source>Reading %1</source>
        <translation>读取 %1</translation>
    </message>
</context>
</TS>
