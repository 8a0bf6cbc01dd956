from examples.expense_approval.main import main

main()
