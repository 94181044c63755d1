// The memory page on a table instead of the engine: measuring, stopping, choosing a mode, the budget.
#include "ui/memory_page.h"

#include <gtest/gtest.h>

#include <QPushButton>
#include <QSlider>
#include <QTableView>
#include <QTest>
#include <atomic>
#include <thread>

#include "tests/ui/ui_fixture.h"
#include "ui/compare_model.h"

namespace longview::ui::test {
namespace {

class TableSource : public CompareSource {
 public:
  Result<std::vector<ModeRow>> predict(Engine&, const QString&, const SamplingSettings&, const JobContext&) override {
    if (predicted == 0) return NotFound("nothing was read yet");
    std::vector<ModeRow> rows;
    rows.reserve(static_cast<size_t>(predicted));
    for (int i = 0; i < predicted; ++i) rows.push_back(rowOf(i));
    return rows;
  }
  Status measure(Engine&, const QString&, const SamplingSettings&, const JobContext& job,
                 const std::function<void(const ModeRow&)>& on_row) override {
    for (int i = 0; i < 3; ++i) {
      ModeRow row = rowOf(i);
      row.bytes = row.predicted_bytes;
      row.measured = true;
      on_row(row);
      row.best = i == 2;  // the engine gives a row again once it knows
      on_row(row);
      if (job.progress) job.progress({i + 1.0, 3.0});
    }
    while (endless && !job.stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return endless ? Cancelled() : Status::Ok();
  }
  Result<BudgetOffer> plan(Engine&, uint64_t bytes, double seconds) override {
    BudgetOffer offer;
    offer.bytes = bytes;
    offer.cache.latent = bytes > 1000000000 ? 128 : 32;
    offer.text = QStringLiteral("%1 bytes for %2 s").arg(bytes).arg(seconds);
    return offer;
  }
  std::atomic<bool> endless = false;
  std::atomic<int> predicted = 0;  // rows

 private:
  static ModeRow rowOf(int i) {
    ModeRow row;
    row.name = QStringLiteral("mode %1").arg(i);
    row.cache.mode = i == 0 ? "mla" : "mha";
    row.bytes_per_token = 100.0 * (i + 1);
    row.predicted_bytes = uint64_t{1000} * static_cast<unsigned>(i + 1);
    row.hours_bytes = {6510000000u, 19500000000u, 65000000000u};
    return row;
  }
};

class UiMemory : public UiFixture {
 protected:
  void SetUp() override {
    UiFixture::SetUp();
    source_ = std::make_shared<TableSource>();
    page_ = std::make_unique<MemoryPage>(bridge_.get(), settings_.get(), source_, QStringLiteral("/a.mp4"));
    page_->show();
  }
  void TearDown() override {
    page_.reset();
    UiFixture::TearDown();
  }
  std::shared_ptr<TableSource> source_;
  std::unique_ptr<MemoryPage> page_;
};

TEST_F(UiMemory, MeasuresAndSwitchesMode) {
  auto* measure = page_->findChild<QPushButton*>(QStringLiteral("measure"));
  QTest::mouseClick(measure, Qt::LeftButton);
  ASSERT_TRUE(waitFor([&] { return page_->model()->rowCount() == 3 && !bridge_->busy(); }));
  bool chosen = false;
  QObject::connect(page_.get(), &MemoryPage::cacheChosen, page_.get(), [&] { chosen = true; });
  page_->findChild<QTableView*>()->selectRow(1);
  QTest::mouseClick(page_->findChild<QPushButton*>(QStringLiteral("use")), Qt::LeftButton);
  EXPECT_TRUE(chosen);
  EXPECT_EQ(settings_->cache().mode, "mha");
}

TEST_F(UiMemory, WhatIsPredictedStandsThereBeforeAnythingIsMeasured) {
  source_->predicted = 3;
  page_ = std::make_unique<MemoryPage>(bridge_.get(), settings_.get(), source_, QStringLiteral("/a.mp4"));
  ASSERT_TRUE(waitFor([&] { return page_->model()->rowCount() == 3 && !bridge_->busy(); }));
  for (const ModeRow& row : page_->model()->rows()) EXPECT_FALSE(row.bytes.has_value());
  page_->measure();
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
  ASSERT_EQ(page_->model()->rowCount(), 3);
  for (const ModeRow& row : page_->model()->rows()) EXPECT_EQ(row.bytes, row.predicted_bytes);
}

TEST_F(UiMemory, WhatIsPredictedFollowsTheReadingUntilSomethingIsMeasured) {
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
  ASSERT_EQ(page_->model()->rowCount(), 0);
  for (const int rows : {2, 3}) {
    source_->predicted = rows;
    page_->filmRead();
    ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
    EXPECT_EQ(page_->model()->rowCount(), rows);
  }
  page_->measure();
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
  page_->filmRead();
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
  for (const ModeRow& row : page_->model()->rows()) EXPECT_TRUE(row.measured);
  // Measured at once, the rows that are still to come are predicted.
  source_->predicted = 5;
  page_ = std::make_unique<MemoryPage>(bridge_.get(), settings_.get(), source_, QStringLiteral("/a.mp4"));
  page_->measure();
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
  EXPECT_EQ(page_->model()->rowCount(), 5);
}

// Rows are measured while they are shown: each column stays as wide as what is in it.
TEST_F(UiMemory, EveryNumberIsShownInFull) {
  page_->resize(900, 600);
  QTest::mouseClick(page_->findChild<QPushButton*>(QStringLiteral("measure")), Qt::LeftButton);
  ASSERT_TRUE(waitFor([&] { return page_->model()->rowCount() == 3 && !bridge_->busy(); }));
  const auto* table = page_->findChild<QTableView*>();
  for (int column = 0; column < page_->model()->columnCount(); ++column) {
    for (int row = 0; row < page_->model()->rowCount(); ++row) {
      const QModelIndex cell = page_->model()->index(row, column);
      const QVariant font = cell.data(Qt::FontRole);
      const QFontMetrics metrics(font.isValid() ? font.value<QFont>() : table->font());
      const int wanted = metrics.horizontalAdvance(cell.data().toString());
      EXPECT_GT(table->columnWidth(column), wanted) << "row " << row << ", column " << column;
    }
  }
}

TEST_F(UiMemory, TheKeyboardLeavesTheTable) {
  QTest::mouseClick(page_->findChild<QPushButton*>(QStringLiteral("measure")), Qt::LeftButton);
  ASSERT_TRUE(waitFor([&] { return page_->model()->rowCount() == 3 && !bridge_->busy(); }));
  auto* table = page_->findChild<QTableView*>();
  page_->activateWindow();
  table->setFocus();
  table->setCurrentIndex(page_->model()->index(0, 0));
  ASSERT_EQ(page_->focusWidget(), table);
  QTest::keyClick(table, Qt::Key_Tab);
  EXPECT_NE(page_->focusWidget(), table);
}

TEST_F(UiMemory, AMeasurementCanBeStoppedAndItsRowsStand) {
  source_->endless = true;
  auto* measure = page_->findChild<QPushButton*>(QStringLiteral("measure"));
  QTest::mouseClick(measure, Qt::LeftButton);
  ASSERT_TRUE(waitFor([&] { return page_->model()->rowCount() == 3; }));
  QTest::mouseClick(measure, Qt::LeftButton);
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
  EXPECT_EQ(page_->model()->rowCount(), 3);
}

TEST_F(UiMemory, TheSliderShowsWhatABudgetBuys) {
  auto* slider = page_->findChild<QSlider*>(QStringLiteral("budget"));
  auto* take = page_->findChild<QPushButton*>(QStringLiteral("take"));
  ASSERT_NE(take, nullptr);
  slider->setValue(0);
  ASSERT_TRUE(waitFor([&] { return take->isEnabled() && !bridge_->busy(); }));
  QTest::qWait(150);
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
  slider->setValue(slider->maximum());
  EXPECT_FALSE(take->isEnabled()) << "what is offered is of another budget";
  slider->setValue(0);
  ASSERT_TRUE(waitFor([&] { return take->isEnabled(); }));
  QTest::mouseClick(take, Qt::LeftButton);
  EXPECT_EQ(settings_->cache().latent, 32);
}

}  // namespace
}  // namespace longview::ui::test
